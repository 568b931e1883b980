"""An object detection head: anchors on a grid, focal and IoU losses, box decoding, suppression and cropping."""

import math

import tensorflow as tf

GRID, ANCHORS, CLASSES, SIZE = 4, 2, 3, 16.0
layers = tf.keras.layers


def make_model(channels: int = 8) -> tf.keras.Model:
    """For each anchor of each cell: an objectness logit, class logits and four box offsets."""
    images = tf.keras.Input((16, 16, 3), batch_size=None)
    x = layers.Rescaling(scale=2.0, offset=-1.0)(images)
    x = layers.Conv2D(channels, 3, strides=2, padding="same", activation="swish")(x)
    x = layers.Conv2D(channels, 3, 2, "same", activation="gelu")(x)
    small = tf.keras.initializers.TruncatedNormal(0.0, stddev=0.01)
    x = layers.Conv2D(ANCHORS * (1 + CLASSES + 4), 1, kernel_initializer=small)(x)
    return tf.keras.Model(images, layers.Reshape((GRID * GRID * ANCHORS, -1))(x))


def make_anchors() -> tf.Tensor:
    """Corner boxes (y1, x1, y2, x2) of two sizes around the centre of every cell, in pixels."""
    centres = (tf.range(GRID, dtype=tf.float32) + 0.5) * (SIZE / GRID)
    y, x = tf.meshgrid(centres, centres, indexing="ij")
    middle = tf.reshape(tf.stack([y, x], -1), [-1, 1, 2])
    half = tf.constant([[[2.0, 2.0], [3.0, 4.0]]])
    return tf.reshape(tf.concat([middle - half, middle + half], axis=-1), [-1, 4])


def iou(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Pairwise intersection over union of corner boxes."""
    low = tf.maximum(a[:, None, :2], b[None, :, :2])
    high = tf.minimum(a[:, None, 2:], b[None, :, 2:])
    overlap = tf.reduce_prod(tf.nn.relu(high - low), axis=-1)
    area_a, area_b = (tf.reduce_prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b))
    return tf.math.divide_no_nan(overlap, area_a[:, None] + area_b - overlap)


def detection_loss(output: tf.Tensor, anchors: tf.Tensor, box: tf.Tensor, label: int) -> tf.Tensor:
    """Matches one box to its best anchors, then adds the losses of objectness, class and place."""
    objectness, classes, offsets = tf.split(output[0], [1, CLASSES, 4], axis=-1)
    overlap = tf.squeeze(iou(anchors, box[None]), 1)
    matched = tf.logical_or(overlap > 0.5, tf.equal(overlap, tf.reduce_max(overlap)))
    places = tf.where(matched)
    target = tf.tensor_scatter_nd_update(tf.zeros_like(objectness), places, tf.ones([len(places), 1]))
    focal = tf.keras.losses.BinaryFocalCrossentropy(True, alpha=0.25, gamma=2.0, from_logits=True)
    chosen = tf.one_hot(tf.fill([len(places)], label), CLASSES)
    kinds = tf.keras.losses.categorical_focal_crossentropy(chosen, tf.gather_nd(classes, places), from_logits=True)
    wanted = (box - tf.boolean_mask(anchors, matched)) / SIZE
    place = tf.keras.losses.huber(wanted, tf.boolean_mask(offsets, matched), delta=0.1)
    return focal(target, objectness) + tf.reduce_mean(kinds) + tf.reduce_sum(place)


def pick_boxes(output: tf.Tensor, anchors: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The three best boxes after plain suppression and after soft suppression."""
    scores = tf.sigmoid(tf.squeeze(output[0, :, :1], axis=-1))
    boxes = tf.clip_by_value(anchors + SIZE * output[0, :, -4:], clip_value_min=0.0, clip_value_max=SIZE)
    hard = tf.image.non_max_suppression(boxes, scores, max_output_size=3, iou_threshold=0.4)
    soft, _ = tf.image.non_max_suppression_with_scores(boxes, scores, 3, score_threshold=0.1, soft_nms_sigma=0.5)
    tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None, :, None], 3, 5, iou_threshold=0.5)
    overlaps = tf.image.non_max_suppression_overlaps(iou(boxes, boxes), scores, 2, overlap_threshold=0.3)
    assert len(overlaps) <= 2 and len(soft) <= 3
    return tf.gather(boxes, hard), tf.gather(scores, hard)


def crop(image: tf.Tensor, boxes: tf.Tensor) -> tf.Tensor:
    """Resamples each box out of the image, and paints all of them onto it."""
    relative = tf.divide(boxes, SIZE)
    painted = tf.image.draw_bounding_boxes(image, relative[None], colors=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    tf.debugging.assert_shapes([(painted, (1, 16, 16, 3))])
    index = tf.zeros([boxes.shape[0]], dtype=tf.int32)
    return tf.image.crop_and_resize(image, relative, index, crop_size=[4, 4], method="bilinear", extrapolation_value=0)


def main() -> None:
    tf.keras.utils.set_random_seed(0)
    box, label, anchors = tf.constant([4.0, 3.0, 12.0, 9.0]), 2, make_anchors()
    square = tf.image.pad_to_bounding_box(tf.ones((8, 6, 3)), 4, 3, target_height=16, target_width=16)
    image = tf.random.uniform([1, 16, 16, 3]) + square * tf.one_hot(label, 3)
    model = make_model()
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.5, clipvalue=1.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = detection_loss(model(image), anchors, box, label)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        assert math.isfinite(float(loss))
    boxes, scores = pick_boxes(model(image), anchors)
    assert crop(image, boxes).shape[1:] == (4, 4, 3) and float(tf.reduce_max(scores)) <= 1.0


if __name__ == "__main__":
    main()
