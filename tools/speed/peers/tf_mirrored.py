"""TensorFlow's MirroredStrategy on logical CPU devices, in one process; one
thread for each."""

from .base import LR, BaseTrainer


def make_net(tf, start):
    """Return LeNet with the parameters `start`; channels last."""
    layers = tf.keras.layers
    net = tf.keras.Sequential(
        [
            layers.Conv2D(20, 3, activation='relu', input_shape=(28, 28, 1)),
            layers.AveragePooling2D(),
            layers.Conv2D(50, 5, activation='relu'),
            layers.AveragePooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation='relu'),
            layers.Dense(10),
        ]
    )
    W1, b1, W2, b2, W3, *rest = start
    # The inputs of the dense layer: channels first, then last.
    W3 = W3.reshape(50, 4, 4, 128).transpose(1, 2, 0, 3).reshape(800, 128)
    kernels = [W.transpose(2, 3, 1, 0) for W in (W1, W2)]
    net.set_weights([kernels[0], b1, kernels[1], b2, W3, *rest])
    return net


class Trainer(BaseTrainer):
    """All devices in one process."""

    package = 'tensorflow-cpu'
    size = 1  # processes that share a minibatch

    def __init__(self, num_devices, start, rendezvous):
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(num_devices)
        self.tf = tf
        self.strategy = self.make_strategy(num_devices, rendezvous)
        self.num_devices = num_devices
        with self.strategy.scope():
            self.net = make_net(tf, start)
            self.optimizer = tf.keras.optimizers.SGD(LR)
        self.criterion = tf.nn.sparse_softmax_cross_entropy_with_logits
        self.run = tf.function(
            lambda *batch: self.strategy.run(self.replica_step, args=batch),
            reduce_retracing=False,
        )

    def make_strategy(self, num_devices, rendezvous):
        """Return the strategy, on as many logical devices."""
        config = self.tf.config
        config.set_logical_device_configuration(
            config.list_physical_devices('CPU')[0],
            [config.LogicalDeviceConfiguration()] * num_devices,
        )
        devices = [f'CPU:{i}' for i in range(num_devices)]
        return self.tf.distribute.MirroredStrategy(devices)

    def load(self, X, y):
        """Return a minibatch with a shard for each device, and its length."""
        import numpy

        X = X.reshape(-1, 28, 28, 1)
        shards = [numpy.array_split(data, self.num_devices) for data in (X, y)]
        return [
            self.strategy.experimental_distribute_values_from_function(
                lambda context, own=own: self.tf.constant(
                    own[context.replica_id_in_sync_group % self.num_devices]
                )
            )
            for own in shards
        ] + [self.tf.constant(float(len(X) * self.size))]

    def replica_step(self, X, y, batch_size):
        """Take the step on one device; its gradients are summed over all."""
        with self.tf.GradientTape() as tape:
            losses = self.criterion(y, self.net(X, training=True))
            loss = self.tf.reduce_sum(losses) / batch_size
        params = self.net.trainable_variables
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, params), params)
        )
        return loss

    def step(self, X, y, batch_size):
        """Take one step."""
        self.last = self.run(X, y, batch_size)

    def drain(self):
        """Wait for the last step."""
        for loss in self.strategy.experimental_local_results(self.last):
            loss.numpy()

    def loss(self, X, y, batch_size):
        """Return the mean loss."""
        local = self.strategy.experimental_local_results
        losses = [
            self.criterion(labels, self.net(images))
            for images, labels in zip(local(X), local(y))
        ]
        return float(self.tf.reduce_mean(self.tf.concat(losses, 0)))
