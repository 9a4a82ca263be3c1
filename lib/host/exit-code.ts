/** The exit codes of commands. */
export const exitCodes = {
  done: 0,
  operatorMustAct: 1,
  usage: 2,
  outputUnwritable: 74,
  tryAgain: 75,
} as const

/** What the exit codes mean, for the help. */
export const exitCodeHelp =
  '  0 done, 1 you have to do something, 2 wrong usage, 74 output not written, 75 try again later, 130 interrupted'
