"""What accelerators can do, and what they cost to rent, with sources.

Read on 28 November 2026. Peaks are dense, without sparsity. None, a dash
here, is what the source does not say; no price is anybody's offer today.
"""

import collections
import json

# `memory`: bytes; `bandwidth`: bytes per second of memory; `bf16`, `fp8`:
# operations per second in matrix products; `link`: bytes per second to the
# devices beside it, in each direction; `domain`: how many devices these links
# join; `watts`: at most.
Accelerator = collections.namedtuple(
    'Accelerator', 'memory bandwidth bf16 fp8 link domain watts sources'
)
# `low`, `high`: US$ per device and hour, on demand, among those who rent out.
Price = collections.namedtuple('Price', 'low high date source')

FIGURES = """
            | memory | bandwidth | bf16     | fp8      | link  | dom. | watts
A100        |  80e9  | 2.039e12  |  312e12  | -        | 300e9 |    8 |  400
H100        |  80e9  | 3.35e12   |  989.4e12| 1978.9e12| 450e9 |    8 |  700
H200        | 141e9  | 4.8e12    |  989.4e12| 1978.9e12| -     |    - |  700
B200        | 192e9  | 8e12      | 2250e12  | 4500e12  | 900e9 |    - | 1000
GB200 NVL72 | 186e9  | 8e12      | 2500e12  | 5000e12  | 900e9 |   72 | 1200
GB300 NVL72 | 279e9  | 8e12      | 2500e12  | 5000e12  | 900e9 |   72 | 1400
MI300X      | 192e9  | 5.3e12    | 1307.4e12| 2614.9e12| -     |    - |  750
MI355X      | 288e9  | 8e12      | -        | 5000e12  | -     |    8 | 1400
TPU v5e     |  16e9  | 819e9     |  197e12  | -        | 200e9 |  256 |    -
TPU v5p     |  95e9  | 2.765e12  |  459e12  |  459e12  | 600e9 | 8960 |    -
TPU v6e     |  32e9  | 1.638e12  |  918e12  |  918e12  | 400e9 |  256 |    -
TPU7x       | 192e9  | 7.38e12   | 2307e12  | 4614e12  | -     | 9216 |    -
"""
LOCKWOOD = 'https://glennklockwood.com/garden/processors/'
GOOGLE = 'https://docs.cloud.google.com/tpu/docs/'
COMPARED = 'https://github.com/alpharomercoma/MI300X-vs-H200'
SOURCES = {
    'A100': f'{LOCKWOOD}A100 '
    'http://gadgetmix.com/nvidia-a100-gpu-with-ampere-architecture/2470/',
    'H100': f'{LOCKWOOD}h100 {LOCKWOOD}B200',
    'H200': COMPARED,
    'B200': f'{LOCKWOOD}B200',
    'GB200 NVL72': f'{LOCKWOOD}B200 '
    'https://www.spheron.network/blog/nvidia-h200-vs-b200-vs-gb200',
    'GB300 NVL72': 'https://verda.com/blog/gb300-nvl72-architecture',
    'MI300X': COMPARED,
    'MI355X': 'https://www.theregister.com/2025/06/12/amd_mi355x/ '
    'https://www.world-today-news.com/?p=7253162 '
    'https://github.com/mlcommons/inference_results_v6.0',
    'TPU v5e': f'{GOOGLE}v5e',
    'TPU v5p': f'{GOOGLE}v5p',
    'TPU v6e': f'{GOOGLE}v6e',
    'TPU7x': f'{GOOGLE}tpu7x '
    'https://jeffcarp.github.io/ml-hyperpolyglot/accelerators.html',
}
ACCELERATORS = {}
for _line in FIGURES.splitlines()[2:]:
    _name, *_cells = [cell.strip() for cell in _line.split('|')]
    _numbers = [json.loads(cell.replace('-', 'null')) for cell in _cells]
    _sources = SOURCES[_name].split()
    ACCELERATORS[_name] = Accelerator._make([*_numbers, _sources])

MERCATUS = 'https://www.mercatus-ai.com/blog/cloud-gpu-pricing'
LYCEUM = (
    'https://lyceum.technology/magazine/nvidia-b200-gpu-cloud-pricing-2026/'
)
PRICES = {
    'A100': Price(0.80, 3.00, 'May 2026', MERCATUS),
    'H100': Price(1.99, 5.00, 'May 2026', MERCATUS),
    'H200': Price(2.50, 7.00, 'May 2026', MERCATUS),
    'B200': Price(4.50, 6.00, 'March 2026', LYCEUM),
}
