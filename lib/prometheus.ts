import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The metrics of a process. */
export type ProcessFigures = {
  /** When it started, in Unix seconds. */
  readonly startedAt: number
  readonly memoryBytes: () => number
  readonly processorSeconds: () => number
  /** How many files and connections are open, and how many may be; undefined where the runtime or the system does not say. */
  readonly openFiles: () => number | undefined
  readonly openFilesLimit: () => number | undefined
}

/** Makes metrics in a registry, each from its name after a prefix, its help and its labels. */
export const makersOf = (registry: Registry, prefix: string) => {
  const registers = [registry]
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name: prefix + name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge({ name: prefix + name, help, labelNames, registers }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: Label[] = [],
    ) => new Histogram({ name: prefix + name, help, buckets, labelNames, registers }),
  }
}

/** The functions that make metrics. */
export type Makers = ReturnType<typeof makersOf>

/** Makes the metrics of a process, and returns what sets them. Those that are unknown are absent. */
export function figureGauges({ counter, gauge }: Makers, figures: ProcessFigures): () => void {
  const memory = gauge('resident_memory_bytes', 'Resident memory')
  const cpu = counter('cpu_seconds_total', 'Processor time')
  const startedAt = gauge('start_time_seconds', 'When the process started, in Unix seconds')
  const open = gauge('open_fds', 'Open files and connections')
  const limit = gauge('max_fds', 'The most files and connections that may be open')
  startedAt.set(figures.startedAt)
  const show = (shown: Gauge, value: number | undefined) =>
    value === undefined ? shown.remove() : shown.set(value)
  return () => {
    show(open, figures.openFiles())
    show(limit, figures.openFilesLimit())
    memory.set(figures.memoryBytes())
    cpu.reset()
    cpu.inc(figures.processorSeconds())
  }
}
