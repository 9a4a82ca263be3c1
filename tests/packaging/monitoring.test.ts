import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMachine } from '../../icl/start/machine.ts'
import { createPrometheus } from '../../icl/start/prometheus.ts'

const folder = join(import.meta.dirname, '..', '..', 'packaging', 'monitoring')

/** Every name of a sample that the ICL can have, with its labels. */
async function samplesOfIcl(): Promise<ReadonlySet<string>> {
  const text = await createPrometheus(createMachine(() => {}).figures).text({
    known: true,
    jobsByPhase: { accepted: 1 },
    nodes: [{ backend: 'tpm', tier: 0, count: 1 }],
    drawsWaiting: 0,
    rooms: undefined,
    degradedReasons: 0,
    inMemory: false,
    effects: 1,
    oldestEffectSeconds: 1,
  })
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  expect(types.length).toBeGreaterThan(15)
  return new Set(
    types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
    ),
  )
}

describe('the alert rules and the dashboard', () => {
  for (const file of ['alerts.yaml', 'dashboard.json']) {
    it(`name in ${file} only metrics that the ICL has`, async () => {
      const known = await samplesOfIcl()
      const text = readFileSync(join(folder, file), 'utf8')
      const named = new Set(text.match(/\b(?:svc_icl|process)_[a-z_]+\b/g))
      expect(named.size).toBeGreaterThan(4)
      expect([...named].filter((name) => !known.has(name))).toEqual([])
    })
  }

  it('show every metric of the ICL but two counters that others tell better', async () => {
    const shown = readFileSync(join(folder, 'dashboard.json'), 'utf8')
    const missing = [...(await samplesOfIcl())].filter(
      (name) => /^svc_icl_(?!.*_(sum|count)$)/.test(name) && !shown.includes(name),
    )
    expect(missing).toEqual(['svc_icl_job_phase_changes_total', 'svc_icl_commits_total'])
  })
})
