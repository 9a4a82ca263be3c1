import { type Check, checkerOf } from '../svc-error.ts'

/** Refuses a receipt unless something holds: throws SvcError `receipt-invalid` with the reason. */
export const check: Check = checkerOf(
  'receipt-invalid',
  'The receipt does not hold',
  'Do not rely on this answer. Fetch the receipt again, or run the job again.',
)
