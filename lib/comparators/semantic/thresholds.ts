/** Signs of projections in an embedding's part of a sketch. */
export const meaningBits = 2_048

/**
 * Differing signs up to which two answers mean alike: a cosine of 0.85. This and the next are chosen from the published geometry of random
 * projections and the cosines reported for such models, without real embeddings: nothing here could measure them.
 */
export const alikeDistance = 362

/** Differing signs from which two answers are unrelated: a cosine of 0.35. */
export const unrelatedDistance = 791

/** Differing signs between two embeddings of one text at the most: a cosine of 0.988, while a model's own variation stays above 0.999. */
export const sameTextDistance = 102
