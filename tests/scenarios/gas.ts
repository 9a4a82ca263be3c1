/** What calls cost in gas, as docs/contracts.md publishes it. */
export const gasOf = {
  register: 117_682,
  storeKey: 207_003,
  commitList: 242_056,
  storeOutputKey: 381_698,
} as const

/** Counts the gas that one owner spends. */
export type GasMeter = {
  spend(call: keyof typeof gasOf, times?: number): void
  readonly spent: number
}

/** Begins at 0. */
export function createGasMeter(): GasMeter {
  let spent = 0
  return {
    spend: (call, times = 1) => {
      spent += gasOf[call] * times
    },
    get spent() {
      return spent
    },
  }
}
