import type { ComparatorId } from '../codecs.ts'
import type { Comparator } from './comparator.ts'
import { exact } from './exact.ts'
import { similar } from './similar.ts'
import { structured } from './structured.ts'

/** Every comparator that a job can name. */
export const comparators: Record<ComparatorId, Comparator> = {
  exact,
  'similar/2': similar,
  'structured/1': structured,
}
