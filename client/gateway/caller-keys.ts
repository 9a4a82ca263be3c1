import { z } from 'zod'
import { equalBytes, utf8 } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readSecretFile } from '../connect/secret-file.ts'

/** A key of callers, and its name for the log. */
export type CallerKey = { readonly name: string; readonly key: string }

/** A caller's key, which must fit in a header. */
export const ApiKey = z
  .string()
  .min(16, 'must have at least 16 characters')
  .max(512, 'must have at most 512 characters')
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'takes printable ASCII characters')

const KeysFile = z
  .strictObject({
    keys: z
      .array(z.strictObject({ name: z.string().regex(/^[\w.-]{1,64}$/), key: ApiKey }))
      .min(1)
      .max(256),
  })
  .superRefine(({ keys }, { addIssue }) => {
    for (const member of ['name', 'key'] as const) {
      const all = new Set(keys.map((one) => one[member]))
      if (all.size < keys.length) {
        addIssue({ code: 'custom', path: ['keys'], message: `has a ${member} twice` })
      }
    }
  })

/** Reads `{"keys": [{"name", "key"}]}` from a private file. Throws SvcError `gateway-keys-(unreadable|exposed|invalid)`, which quotes no key. */
export async function readCallerKeys(path: string): Promise<readonly CallerKey[]> {
  const text = await readSecretFile(path, 'gateway-keys', 'SVC_GATEWAY_KEYS_FILE')
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The parser's message may quote a key.
    throw invalid(path, 'it is not JSON')
  }
  const parsed = KeysFile.safeParse(json)
  if (parsed.success) return parsed.data.keys
  const [issue] = parsed.error.issues
  throw invalid(path, `${issue?.path.join('.') || 'the file'}: ${wordsOf(issue)}`)
}

// Zod's message quotes unknown members, which could be keys.
const wordsOf = (issue: z.core.$ZodIssue | undefined): string =>
  issue?.code === 'unrecognized_keys' ? 'has other members' : (issue?.message ?? '')

const invalid = (path: string, why: string): SvcError =>
  new SvcError('gateway-keys-invalid', `the key file ${path} has a mistake: ${why}`, {
    hint: 'It takes {"keys": [{"name": "ann", "key": "16 characters or more"}]}, 256 keys at most.',
  })

/** Returns the name of the key that a caller showed, in constant time; undefined when it is no known key. */
export function callerOf(shown: string, keys: readonly CallerKey[]): string | undefined {
  const bytes = utf8(shown)
  let found: string | undefined
  for (const { name, key } of keys) if (equalBytes(bytes, utf8(key))) found = name
  return found
}
