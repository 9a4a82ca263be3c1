// Generated from contracts/CofheTaskManager.sol by contracts/build.ts; do not edit.

/** The ABI of CofheTaskManager. */
export const taskManagerAbi = [
  {"name":"ACLNotAllowed","type":"error","inputs":[{"type":"uint256","name":"handle"},{"type":"address","name":"account"}]},
  {"name":"InvalidSigner","type":"error","inputs":[{"type":"address","name":"signer"},{"type":"address","name":"expected"}]},
  {"name":"acl","type":"function","stateMutability":"view","inputs":[],"outputs":[{"type":"address"}]},
  {"name":"isAllowed","type":"function","stateMutability":"view","inputs":[{"type":"uint256","name":"handle"},{"type":"address","name":"account"}],"outputs":[{"type":"bool"}]},
  {"name":"isPubliclyAllowed","type":"function","stateMutability":"view","inputs":[{"type":"uint256","name":"handle"}],"outputs":[{"type":"bool"}]},
] as const
