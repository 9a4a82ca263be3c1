import { z } from 'zod'

const error = 'takes an amount of ether as text, such as 1.5'

/** An amount as its operator writes it, in ether. Gives wei. */
export const Ether = z
  .string(error)
  .regex(/^\d{1,12}(\.\d{1,18})?$/, error)
  .transform((amount) => {
    const [whole = '', part = ''] = amount.split('.')
    return BigInt(whole + part.padEnd(18, '0'))
  })
