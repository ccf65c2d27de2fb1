"""What accelerators can do, and what they cost to rent, with sources.

Read on 28 November 2026. Peaks are dense, without sparsity. None is what the
source does not say; no price is anybody's offer today.
"""

import collections

# `memory`: bytes; `bandwidth`: bytes per second of memory; `bf16`, `fp8`:
# operations per second in matrix products; `link`: bytes per second to the
# devices beside it, in each direction; `domain`: how many devices these links
# join; `watts`: at most.
Accelerator = collections.namedtuple(
    'Accelerator', 'memory bandwidth bf16 fp8 link domain watts sources'
)

_LOCKWOOD = 'https://glennklockwood.com/garden/processors/'
_GOOGLE = 'https://docs.cloud.google.com/tpu/docs/'
_COMPARED = 'https://github.com/alpharomercoma/MI300X-vs-H200'

ACCELERATORS = {
    'A100': Accelerator(
        80e9,
        2.039e12,
        312e12,
        None,
        300e9,
        8,
        400,
        [
            _LOCKWOOD + 'A100',
            'http://gadgetmix.com/nvidia-a100-gpu-with-ampere-architecture/2470/',
        ],
    ),
    'H100': Accelerator(
        80e9,
        3.35e12,
        989.4e12,
        1978.9e12,
        450e9,
        8,
        700,
        [_LOCKWOOD + 'h100', _LOCKWOOD + 'B200'],
    ),
    'H200': Accelerator(
        141e9, 4.8e12, 989.4e12, 1978.9e12, None, None, 700, [_COMPARED]
    ),
    'B200': Accelerator(
        192e9, 8e12, 2250e12, 4500e12, 900e9, None, 1000, [_LOCKWOOD + 'B200']
    ),
    'GB200 NVL72': Accelerator(
        186e9,
        8e12,
        2500e12,
        5000e12,
        900e9,
        72,
        1200,
        [
            _LOCKWOOD + 'B200',
            'https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200',
        ],
    ),
    'GB300 NVL72': Accelerator(
        279e9,
        8e12,
        2500e12,
        5000e12,
        900e9,
        72,
        1400,
        ['https://verda.com/blog/gb300-nvl72-architecture'],
    ),
    'MI300X': Accelerator(
        192e9, 5.3e12, 1307.4e12, 2614.9e12, None, None, 750, [_COMPARED]
    ),
    'MI355X': Accelerator(
        288e9,
        8e12,
        None,
        5000e12,
        None,
        8,
        1400,
        [
            'https://www.theregister.com/2025/06/12/amd_mi355x/',
            'https://www.world-today-news.com/?p=7253162',
            'https://github.com/mlcommons/inference_results_v6.0',
        ],
    ),
    'TPU v5e': Accelerator(
        16e9, 819e9, 197e12, None, 200e9, 256, None, [_GOOGLE + 'v5e']
    ),
    'TPU v5p': Accelerator(
        95e9, 2.765e12, 459e12, 459e12, 600e9, 8960, None, [_GOOGLE + 'v5p']
    ),
    'TPU v6e': Accelerator(
        32e9, 1.638e12, 918e12, 918e12, 400e9, 256, None, [_GOOGLE + 'v6e']
    ),
    'TPU7x': Accelerator(
        192e9,
        7.38e12,
        2307e12,
        4614e12,
        None,
        9216,
        None,
        [
            _GOOGLE + 'tpu7x',
            'https://jeffcarp.github.io/ml-hyperpolyglot/accelerators.html',
        ],
    ),
}

# `low`, `high`: US$ per device and hour, on demand, among those who rent out.
Price = collections.namedtuple('Price', 'low high date source')

_MERCATUS = 'https://www.mercatus-ai.com/blog/cloud-gpu-pricing'

PRICES = {
    'A100': Price(0.80, 3.00, 'May 2026', _MERCATUS),
    'H100': Price(1.99, 5.00, 'May 2026', _MERCATUS),
    'H200': Price(2.50, 7.00, 'May 2026', _MERCATUS),
    'B200': Price(
        4.50,
        6.00,
        'March 2026',
        'https://lyceum.technology/magazine/nvidia-b200-gpu-cloud-pricing-2026/',
    ),
}
