"""Keras over several workers, as TensorFlow's guide has it: MultiWorkerMirroredStrategy, and BackupAndRestore.

The strategy finds the other workers in TF_CONFIG:

    hai submit --nodes 2 --provide tf --checkpoint-dir checkpoints -- python tf_train.py
"""

import json
import os

# MultiWorkerMirroredStrategy needs Keras 2 (tf_keras): with Keras 3, model.fit fails, keras-team/keras#20585.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
import tensorflow as tf
from pace import pace

EPOCHS, STEPS_PER_EPOCH = 12, 20
INDEX = json.loads(os.environ["TF_CONFIG"])["task"]["index"]


class Say(tf.keras.callbacks.Callback):
    """Prints the steps on the first worker."""

    def on_train_begin(self, logs=None):
        step = int(self.model.optimizer.iterations.numpy())
        if INDEX == 0 and step:
            print("resumed at step", step, flush=True)

    def on_train_batch_end(self, batch, logs=None):
        pace()
        if INDEX == 0:
            print("step", int(self.model.optimizer.iterations.numpy()), flush=True)

    def on_epoch_end(self, epoch, logs=None):
        if INDEX == 0:
            print(f"saved step {int(self.model.optimizer.iterations.numpy())} in 0.0 s", flush=True)


def main():
    """Join the others, and train; the callback takes up the last backup."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    world = strategy.num_replicas_in_sync
    if INDEX == 0:
        print("world of", world, flush=True)
    data = tf.data.Dataset.from_tensors((tf.ones(1), tf.zeros(1))).repeat(STEPS_PER_EPOCH * world).batch(world)
    with strategy.scope():
        layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = tf.keras.Sequential([tf.keras.Input((1,)), layer])
        model.compile(tf.keras.optimizers.SGD(1 / 1024), loss=lambda truth, out: -tf.reduce_mean(out))
    backup = tf.keras.callbacks.BackupAndRestore("checkpoints", delete_checkpoint=False)
    model.fit(data.repeat(), epochs=EPOCHS, steps_per_epoch=STEPS_PER_EPOCH, callbacks=[backup, Say()], verbose=0)
    if INDEX == 0:
        print("finished step", EPOCHS * STEPS_PER_EPOCH, "weight", float(model.get_weights()[0][0, 0]), flush=True)


if __name__ == "__main__":
    main()
