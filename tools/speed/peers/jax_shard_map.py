"""JAX's shard_map over logical host devices, in one process; one thread for
each."""

import os

from .base import LR, BaseTrainer


def lenet(jax, X, params):
    """Return the scores of ten classes for each image."""
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    for W, b in ((W1, b1), (W2, b2)):
        X = jax.lax.conv(X, W, (1, 1), 'VALID') + b[:, None, None]
        window = (1, 1, 2, 2)
        X = jax.lax.reduce_window(
            jax.nn.relu(X), 0.0, jax.lax.add, window, window, 'VALID'
        )
        X = X / 4
    return jax.nn.relu(X.reshape(len(X), -1) @ W3 + b3) @ W4 + b4


class Trainer(BaseTrainer):
    """All devices in one process."""

    package = 'jax'

    def __init__(self, num_devices, start, rendezvous):
        os.environ['XLA_FLAGS'] = (
            f'--xla_force_host_platform_device_count={num_devices} '
            '--xla_cpu_multi_thread_eigen=false'
        )
        os.environ['JAX_PLATFORMS'] = 'cpu'
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        self.jax, self.num_devices = jax, num_devices
        mesh = jax.make_mesh((num_devices,), ('data',))
        same, split = PartitionSpec(), PartitionSpec('data')
        self.split = NamedSharding(mesh, split)
        self.params = jax.device_put(start, NamedSharding(mesh, same))
        self.run = jax.jit(
            jax.shard_map(
                self.device_step,
                mesh=mesh,
                in_specs=(same, split, split),
                out_specs=same,
                check_vma=False,  # we sum the gradients ourselves
            )
        )

    def load(self, X, y):
        """Return a minibatch with a shard on each device."""
        return self.jax.device_put((X, y), self.split)

    def losses(self, params, X, y):
        """Return the loss of each example."""
        scores = self.jax.nn.log_softmax(lenet(self.jax, X, params))
        return -self.jax.numpy.take_along_axis(scores, y[:, None], 1)

    def device_step(self, params, X, y):
        """Return the parameters after the step; runs on each device."""
        grads = self.jax.grad(lambda p: self.losses(p, X, y).sum())(params)
        grads = self.jax.lax.psum(grads, 'data')
        batch_size = len(X) * self.num_devices
        return [p - LR / batch_size * g for p, g in zip(params, grads)]

    def step(self, X, y):
        """Take one step."""
        self.params = self.run(self.params, X, y)

    def drain(self):
        """Wait for the last step."""
        self.jax.block_until_ready(self.params)

    def loss(self, X, y):
        """Return the mean loss."""
        return float(self.losses(self.params, X, y).mean())
