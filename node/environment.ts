/** Environment variables as the process got them. */
export type Environment = Readonly<Record<string, string | undefined>>
