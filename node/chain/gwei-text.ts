import { formatGwei } from 'viem'

/** Formats wei for a unit of gas: `1.25 gwei`. */
export const gweiText = (wei: bigint): string =>
  `${Number(Number(formatGwei(wei)).toPrecision(4))} gwei`
