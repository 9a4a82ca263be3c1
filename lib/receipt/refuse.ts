import { SvcError } from '../svc-error.ts'

/** Refuses a receipt: throws SvcError `receipt-invalid` with the reason. */
export const refuseReceipt = (why: string): never => {
  throw new SvcError('receipt-invalid', `The receipt does not hold: ${why}`, {
    hint: 'Do not rely on this answer. Fetch the receipt again, or run the job again.',
  })
}

/** Refuses a receipt unless the condition holds. */
export const check = (holds: boolean, why: string): void => {
  if (!holds) refuseReceipt(why)
}
