"""Shares that follow a change of speed."""

import collections

from .on_devices import ones_batch, replicas_on


def measure(trial):
    """Return the second device's share after each of 60 steps; from step 30
    on it does its work twice."""
    import d2lmulti

    devices = d2lmulti.try_devices(trial['devices'])
    device_params, batch = replicas_on(devices), ones_batch(512)
    shares, recent, history = [256, 256], collections.deque(maxlen=7), []
    for step in range(60):
        slowdowns = [1, 2 if step >= 30 else 1]
        seconds = d2lmulti.train_batch_weighted(
            *batch, device_params, devices, 1e-4, shares, slowdowns
        )
        recent.append([s / n for s, n in zip(seconds, shares)])
        shares = d2lmulti.adapt_shares(shares, recent)
        history.append(shares[1])
    return {'shares': history}
