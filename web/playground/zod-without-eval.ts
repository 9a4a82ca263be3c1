// Import this first. Otherwise a schema that tries to compile itself violates the page's policy, and the browser reports it.
import { config } from 'zod'

config({ jitless: true })
