# 1 wrong: fit divides its batch among the devices -> fit divides
def fit_numbers(num_images, per_device, k):
    batch_size = per_device
    return batch_size, -(-num_images // batch_size)

# 1 wrong: drops the last, short step -> not
def fit_numbers(num_images, per_device, k):
    batch_size = per_device * k
    return batch_size, num_images // batch_size

# 1 wrong: a step for each device -> not
def fit_numbers(num_images, per_device, k):
    batch_size = per_device * k
    return batch_size, -(-num_images // per_device)

# 1 right: a number of steps from NumPy
def fit_numbers(num_images, per_device, k):
    batch_size = per_device * k
    return [batch_size, onp.ceil(num_images / batch_size)]

# 1 right: counts with range
def fit_numbers(num_images, per_device, k):
    return k * per_device, len(range(0, num_images, k * per_device))

# 2 wrong: only this worker -> all workers
def config_of(hosts, index):
    return json.dumps({'cluster': {'worker': [hosts[index]]},
                       'task': {'type': 'worker', 'index': index}})

# 2 wrong: the workers sorted -> the same order
def config_of(hosts, index):
    return json.dumps({'cluster': {'worker': sorted(hosts)},
                       'task': {'type': 'worker', 'index': index}})

# 2 wrong: every worker is the first -> for worker 1
def config_of(hosts, index):
    return json.dumps({'cluster': {'worker': hosts},
                       'task': {'type': 'worker', 'index': 0}})

# 2 wrong: Python's quotes -> cannot read
def config_of(hosts, index):
    return str({'cluster': {'worker': hosts}})

# 2 right: a tuple of hosts
def config_of(hosts, index):
    return json.dumps({'cluster': {'worker': tuple(hosts)},
                       'task': {'type': 'worker', 'index': index}})

# 2 right: in another order
def config_of(hosts, index):
    config = {'task': {'index': index, 'type': 'worker'}}
    config['cluster'] = dict(worker=list(hosts))
    return json.dumps(config)

# 3 wrong: divides by the number of devices -> each must weigh
def replica_loss(losses, sizes):
    return tf.reduce_sum(losses) / len(sizes)

# 3 wrong: the mean of a shard -> each must weigh
def replica_loss(losses, sizes):
    return tf.reduce_sum(losses) / len(losses)

# 3 wrong: the sum -> each must weigh
def replica_loss(losses, sizes):
    return tf.reduce_sum(losses)

# 3 wrong: not summed -> one number
def replica_loss(losses, sizes):
    return losses / sum(sizes)

# 3 right: TensorFlow's own function
def replica_loss(losses, sizes):
    return tf.nn.compute_average_loss(
        losses, global_batch_size=sum(sizes))

# 3 right: one loss after the other
def replica_loss(losses, sizes):
    return tf.add_n(tf.unstack(losses)) / sum(sizes)
