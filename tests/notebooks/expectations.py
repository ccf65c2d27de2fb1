"""Which cell confronts each sentence of a chapter that expects something.

CONFRONTED: {chapter: {words of the sentence: id of the cell}}.
OTHERS: {chapter: {reason: [words of sentences that compare, but expect
nothing that a run could refute]}}; the numbers of most are held by
test_claims.py.
"""

CONFRONTED = {
    'devices': {
        'the call to return in less than a tenth': '9',
        'On two free cores we expect about half the time': '15',
        'We expect a long wait': 'wait-for-one',
        'We expect CODE to take at least four fifths': 'wait-to-make',
        'We expect latency to dominate': '24',
        'We expect about 1 from the first process': '20',
    },
    'network': {
        'we can expect 6 or more good digits': '19',
        'We expect reversed images to be within eight': 'orders-demo',
        'We expect the loss to stay at 2.303': '24',
        'we expect the scores to have no more': 'signal-measured',
        'we expect at least a third of it': 'signal-measured',
        'so we expect gradients at least ten times smaller': '29',
    },
    'replicas': {'We expect the time to grow about as': '25'},
    'data': {
        'We expect the row at once': 'slices-wait-run',
        'We expect loading to take at most a tenth': '40',
        'we expect the same numbers, bit for bit': 'bytes-check',
    },
    'training': {
        "so we don't expect exactly one spread": '11',
        'We expect every parameter of every replica': '11',
        'and with one image left out, and expect more': '11',
        'We expect both pairs of runs to be at least': '14',
        'at the end we expect nearly the same': 'seeds',
        'We expect learning curves that end together': '31',
        'We expect each device to be busy': '36',
    },
    'causes': {
        'We expect about 1 here, and about 2': '45',
        'So we expect a smaller speedup of 200 layers': 'depth-run',
        'we expect at most eight times the memory': 'depth-run',
        'we expect a step at most 0.9 times as fast': 'three-looks',
        'we expect at most 1.25 times': 'three-looks',
        'we expect at most a twentieth of a step': '48',
        'and expect a fifth or more': '48',
    },
    'gluon': {
        'The result should be the same': '10',
        'LeNet has few operators, so we expect little': '20',
        'we expect the same shards': 'd2l-agrees',
        'We expect it to learn from the second half': 'd2l-ragged',
        'so we expect two devices to take between half': '28',
        'We expect its thread to compute at least 1.5': 'python-seconds',
    },
    'collectives': {
        'We count the rounds, and expect': 'rounds',
        'we expect it to be off by a factor of two': 'one-pair',
        'So we expect a bucket to save more time': '28',
        'By messages alone, halving–doubling would be faster': 'alpha-parts',
        'we expect it to take longer than the ring': 'alpha-parts',
        'we expect the time for 4 KB to be between half': 'alpha-parts',
        'We expect the largest rate to be at most twice': 'traffic',
        'we expect the same sums, up to rounding': '26',
    },
    'timeline': {
        'We expect the products side by side': '12',
        'We expect the first copy of a gradient, above': 'overlap-figure',
        'so we expect an overlapped time of at least': '20',
        'by this count we expect overlap to leave at most': 'early-and-late',
        'Two cores that share all three passes would leave half': (
            'early-and-late'
        ),
        'there we expect at least four fifths to be left': 'early-and-late',
        'but we expect the sums of one bucket only after': 'buckets-figure',
        'What the link hides is at most the time': 'buckets-model',
        'we expect each pause to make the step as much longer': (
            'pause-verdict'
        ),
        'and we expect each further one to take the longer': 'pause-verdict',
        'So we expect at most half of the short pause': 'pause-verdict',
        'We expect it to return at most a quarter': 'mark-late',
    },
    'compression': {
        'and expect the same float32 numbers': 'rejoin-check',
        'We expect that without feedback the second number': 'feedback-run',
        'We expect the error to fall to that of the best': 'power-run',
        'We expect what a simulation takes': 'unequal-run',
        'we expect compressing to take longer': 'compress-time',
    },
    'large_batch': {
        'We expect that to take between half': '17',
        'we expect two devices to be lower after two epochs': '17',
        'At the same rate we expect them to fall behind': '13',
        'So we expect nearly **perfect scaling**': '24',
    },
    'sync_batch_norm': {
        'With per-device statistics we expect': '28',
        'So we expect more than 1.13/√2 there': 'shard-sizes',
    },
    'heterogeneous': {
        'We expect the first to be idle for about half': '12',
        'we expect both together to be idle for at most': '19',
        'takes at most CODE examples at once': '27',
        'and expect the even one to take as many times as long': '20',
    },
    'transformer': {
        'We expect errors that grow with the number': 'errors',
        'the errors grow as we expected': 'errors',
        'We expect the network to begin worse by 1': 'train-long',
        'we expect the loss of the words that are really': 'control-hidden',
        'we expect at least 0.1 less than without': 'decoder-run',
        'we expect between one and four times the time': 'cost-times',
    },
    'model_parallel': {
        'We expect an idle fraction of at least': '24',
        'So we expect no more time than with the other cut': 'more-stages',
        'We expect each schedule to take what is predicted': (
            'zero-bubble-confront'
        ),
        'needs half the memory of data parallelism here': '45',
        'stage *s* holds at most *p* − *s* live': '1f1b-check',
        'we leave out half of the images': '18',
    },
    'sharding': {
        'We expect the bytes of CODE and': 'zero1-run',
        'we expect 1.5 times the bytes': 'zero3-check',
        'a device should take another step': 'clip-run',
        'we expect up to 4/3': 'recompute-peak',
        'We expect a peak at most a quarter above': 'recompute-peak',
        'we expect an error within four roundings': 'arithmetic',
        'And we expect less time only if': 'arithmetic-seconds',
        'we expect at least a tenth of them to round': 'vanishing',
    },
    'sequences_experts': {
        'Without the correction, the result should be': 'online-check',
        'If blocks are not passed on, the result': 'ring-check',
        'before an average over devices, the gradients should be': 'own-means',
        'So we expect six blocks at the peak': 'peak',
        'The whole step should equal one device': 'ulysses-check',
        'nothing is sent in the backward pass, the gradients': 'ulysses-check',
        'Autograd records copies between devices, and should': (
            'ulysses-autograd'
        ),
        'at most four fifths as large with the balance loss': 'training',
    },
    'mesh': {
        'we expect wrong gradients': 'proof',
        'they should be right on meshes of one to': 'proof',
        'Three steps should end': 'zero-check',
        'have as many numbers as one': 'zero-check',
    },
    'cluster': {
        'expect at most six tenths of the time': 'exchange-run',
        "tenths of the other's rows": 'unequal-run',
        'float32 numbers *g* differ by at most': 'orders-bound',
        'We expect bit-identical parameters': '39',
    },
    'hangs': {
        'we expect that a record, written twice': 'price',
        'We expect that the other two wait 0.6 s': 'waiting-run',
        'We expect that ranks 0 and 1 wait about half a second': 'waits-run',
    },
    'pytorch': {
        'We expect the same scores': 'scores',
        'What do we expect of a test': 'five',
        'we expect the wrong step': 'five',
        'We expect a step with twice the learning rate': 'five',
        'We expect it to name the ranks 1, 2, 0, 2 and 0': 'hang-run',
        'We expect that py-spy shows': 'three-tools-run',
        'we expect the same accuracy, nearly': 'train',
        "We expect chapter 5's parameters in both": 'run-by-hand',
        'we expect two messages from the second step on': 'run-buckets',
        'we expect 8 rows in place of 5': 'sampler',
        'and expect half of the bytes per process': 'run-fsdp',
        'We expect two more steps': 'run-elastic',
    },
    'tensorflow': {
        "should end with chapter 5's parameters": 'five',
        'so we expect the same parameters': 'mirrored',
        'We expect steps in the ratio of 2 to 1': 'loss',
    },
    'bugs': {
        'we expect it in every room': 'table',
        'we expect rooms 8, 14 and 15': 'weak-test',
    },
    'scaling': {
        'A thousand quantiles of each should give': 'slowest-check',
        'We expect at least nine of ten within 15 %': 'predict',
        'We expect each within 20 %': 'four',
        'We expect the model to predict them': 'two-processes',
        'We expect a rank correlation of at least 0.6': 'planner-measured',
        'Formula and simulation agree': 'llama',
    },
}

DEFINED = 'a definition, a rule or an instruction'
COUNTED = 'a count, a formula or a bound, not a measurement'
COMPARED = 'the next cell prints it, and nbval compares that'
SHOWN = 'says of the output above what it shows'
SOURCE = 'of somebody else, with the source'

OTHERS = {
    'network': {
        DEFINED: ['How large should they be', 'We call it the **spread**'],
        COUNTED: ['the half of the values that CODE sets to zero'],
        SHOWN: [
            'norms have grown by about the same',
            'the faster the weights grow',
        ],
    },
    'replicas': {
        COUNTED: [
            'A mean over two devices would be half of it',
            'learns from its half of the data alone',
            "For LeNet's half a megabyte on two devices",
        ],
    },
    'data': {DEFINED: ['reads or writes the top half of an array']},
    'training': {
        DEFINED: [
            'says how many times as far a result is',
            'one half alone; both halves at once',
            'Half of the images on one device: that is what',
            'What else can keep two devices from being faster',
        ],
        COUNTED: ['rounding is 2²⁹ times as fine'],
        SHOWN: ['It may take less than half', 'of the faster device for'],
    },
    'causes': {
        DEFINED: [
            'Two devices should take somewhat more than half',
            'A step should queue all of its work',
        ],
        COUNTED: [
            'two devices are at most 1/5',
            'If loading takes half of the time on one device',
        ],
    },
    'gluon': {DEFINED: ['grades one network on one half']},
    'collectives': {
        COMPARED: ['each device should end with one slice of it'],
        DEFINED: [
            'Pair each device of the first half',
            'leaves one partner with the first half',
            'sends half its array across',
            'sums half of each array along one tree',
        ],
        COUNTED: [
            'devices and half the bytes, twice',
            'about half of the devices of a tree are leaves',
        ],
    },
    'timeline': {
        DEFINED: [
            'if such a one should count as waiting',
        ],
    },
    'compression': {DEFINED: ['eight seconds at most']},
    'large_batch': {
        COUNTED: [
            'a step is worth half of what perfect scaling',
            'If all gradients were ten times as large',
        ],
        SHOWN: ['less than half of the work pays off', 'far below *b*'],
    },
    'sync_batch_norm': {SHOWN: ['At 2 it is about twice as large']},
    'heterogeneous': {
        DEFINED: [
            'Leave out a device that should get nothing',
            'Two devices, the second half as fast',
            'the last is half as fast',
            'HetSeq gives all GPUs equal batches',
        ],
        SHOWN: [
            'They need not come back to exactly half',
            'does about as well here as the proportional',
        ],
    },
    'transformer': {
        DEFINED: [
            'into sentences of at most 20 words',
            'the network should not rely on seeing the mask',
            'no position should look at it',
            'which should not matter to the result at all',
            'It should be CODE divided by the number',
            'each shard weighs what it should by itself',
            'What should the network beat',
        ],
    },
    'model_parallel': {
        DEFINED: [
            'Each device computes half of the channels',
            'the gradients of half of the images',
            'each device holds half and updates its own',
            'two groups, each with half of the images',
            'the two of a group, side by side',
        ],
        COUNTED: [
            'the exchange takes *R* (*k* − 1)/*d* times as long',
            'Each device sends its half of them',
            'half of the images and labels',
            'Tensor: half of every array but the last bias',
        ],
    },
    'sharding': {
        COUNTED: [
            'The price is at most one more forward pass',
            'Half the bytes',
            'of the three sums is rounded to float16; one rounding',
            'the error is at most four roundings',
            'One rounding is at most',
            'what is smaller than half of the last one is lost',
        ],
    },
    'sequences_experts': {
        COUNTED: [
            'half of the work disappears',
            'Both are half a block',
            'at most as many as heads',
        ],
    },
    'cluster': {
        COMPARED: ['the job should end, name it'],
        DEFINED: [
            'one worker taking four times as much',
            'the second takes about twice as long per step',
            'So each should take rows in proportion',
        ],
    },
    'pytorch': {
        COMPARED: ['should leave 4 in PyTorch and 2 in MXNet'],
        DEFINED: ['Each waits for the others at most one minute'],
    },
    'tensorflow': {
        COMPARED: ['should do the remaining two epochs'],
        DEFINED: ['should tell you to install'],
    },
    'scaling': {
        COUNTED: [
            'a failure about half an interval',
            'If twice the devices took half the time',
            'A stage *s* of *p* keeps those of at most',
            'A micro-batch comes to a device *v* times',
            'the slowest stage is busy *m* times as long',
            'with one, the bubble takes a third to almost half',
        ],
        DEFINED: ['We assume that a GPU reaches half'],
        SOURCE: ['eight A100 in a DGX A100'],
    },
    'bugs': {
        SOURCE: [
            'Its loss was higher than it should be',
            'give another gradient in two accumulated',
            'their gradients are four times as large',
            'Its loss was higher than it should be',
        ],
        COUNTED: [
            'A token of the first eleven counts 61/22 times',
            'By a half: the second device adds zeros',
            'is it above or below 1',
            'whose last bias is *k* times as large',
        ],
    },
    'claims': {
        DEFINED: ['Is its bandwidth why GPUs are faster'],
        COUNTED: ["Chapter 15's bubble fraction"],
        SHOWN: [
            'perhaps VGG-16 computed faster',
            'several times as many images per second',
        ],
        SOURCE: ['3.74 times as fast on four', 'BERT 46.5 times'],
    },
}
