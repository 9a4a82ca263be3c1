// Imported first: with the page's policy, a schema that tried to compile itself would be reported as a violation.
import { config } from 'zod'

config({ jitless: true })
