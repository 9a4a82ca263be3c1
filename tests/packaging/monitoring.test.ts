import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPrometheus } from '../../icl/start/prometheus.ts'
import { figuresOf } from '../../lib/host/process-figures.ts'
import { createNodeMetrics } from '../../node/metrics/metrics.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const folder = join(import.meta.dirname, '..', '..', 'packaging', 'monitoring')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const figures = figuresOf(process)

const metricsOfIcl = () =>
  createPrometheus(figures).text({
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

const metricsOfNode = () => {
  const labels = { version: '1.2.3', address: `0x${'a1'.repeat(20)}` }
  return createNodeMetrics({ clock: createVirtualClock(), figures, labels }).text()
}

describe.each([
  {
    who: 'the ICL',
    metrics: metricsOfIcl,
    prefix: 'svc_icl_',
    files: ['alerts.yaml', 'dashboard.json'],
    // Others tell better.
    hidden: ['svc_icl_job_phase_changes_total', 'svc_icl_commits_total'],
  },
  {
    who: 'a node',
    metrics: metricsOfNode,
    prefix: 'svc_node_',
    files: ['node-alerts.yaml', 'node-dashboard.json'],
    hidden: [],
  },
])('the alert rules and the dashboard of $who', ({ metrics, prefix, files, hidden }) => {
  /** Every name of a sample that it can have. */
  const samples = async (): Promise<ReadonlySet<string>> => {
    const types = [...(await metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    expect(types.length).toBeGreaterThan(15)
    return new Set(
      types.flatMap(([, name = '', type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
      ),
    )
  }

  it.each(files)('name in %s only metrics that there are', async (file) => {
    const known = await samples()
    const named = new Set(read(file).match(/\b(?:svc_icl|svc_node|process)_[a-z_]+\b/g))
    expect(named.size).toBeGreaterThan(4)
    expect([...named].filter((name) => !known.has(name))).toEqual([])
  })

  it('show every metric but those that others tell better', async () => {
    const shown = read(files[1] ?? '')
    const missing = [...(await samples())].filter(
      (name) => name.startsWith(prefix) && !/_(sum|count)$/.test(name) && !shown.includes(name),
    )
    expect(missing).toEqual(hidden)
  })
})
