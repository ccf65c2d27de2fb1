"""Hidden checks of chapter 22."""

import json

import tensorflow as tf
from compare import assert_same, is_close


def hidden_fit_numbers(rng, answer, solution):
    for _ in range(6):
        per_device, k = int(rng.randint(1, 99)), int(rng.randint(1, 9))
        assert_same(answer, solution, int(rng.randint(1, 9999)), per_device, k)


def hidden_config_of(rng, answer, solution):
    for k in (1, 3, 5):
        hosts = [
            f'10.0.0.{n}:{port}' for n, port in rng.randint(1, 99, (k, 2))
        ]
        for index in range(k):
            found = json.loads(answer(list(hosts), index))
            wanted = json.loads(solution(hosts, index))
            assert found['cluster'] == wanted['cluster'] and (
                found['task']['type'] == 'worker'
                and int(found['task']['index']) == index
            ), f'hidden check: worker {index} of {hosts}'


def watched_replica_loss(rng, answer, solution):
    for k in (1, 2, 4):
        sizes = [int(n) for n in rng.randint(1, 40, k)]
        for size in sizes:
            losses = tf.constant(rng.rand(size).astype('float32'))
            found, wanted = (
                answer(losses, list(sizes)),
                solution(losses, sizes),
            )
            assert is_close(float(found), float(wanted)), (
                f'hidden check: {size} of {sizes} examples'
            )
