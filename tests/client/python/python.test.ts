import { describe, expect, it } from 'vitest'
import { AssignmentReason, DeliveryReason } from '../../../lib/schemas/jobs.ts'
import { PassReason } from '../../../lib/schemas/list.ts'
import { cannot, runPython, skipped } from './python.ts'

describe('the client in Python', () => {
  it.skipIf(cannot)(`passes its own tests, the vectors among them${skipped}`, async () => {
    const { code, stdout, stderr } = await runPython(['-m', 'unittest'])
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toMatch(/Ran (2\d|[3-9]\d) tests/)
  })

  it.skipIf(cannot)(`knows every reason that a receipt can give${skipped}`, async () => {
    const print =
      'import json; from svc_client.schema import *; print(json.dumps([over_reasons, delivery_reasons, pass_reasons]))'
    const { stdout } = await runPython(['-c', print])
    const known = [AssignmentReason, DeliveryReason, PassReason].map(({ options }) => options)
    expect(JSON.parse(stdout).map(sorted)).toEqual(known.map(sorted))
  })
})

const sorted = (names: readonly string[]): readonly string[] => names.toSorted()
