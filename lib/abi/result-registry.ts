// Generated from contracts/ResultRegistry.sol by contracts/build.ts; do not edit.

/** The ABI of ResultRegistry. */
export const resultRegistryAbi = [
  {"type":"constructor","stateMutability":"nonpayable","inputs":[{"type":"address","name":"coordinator"}]},
  {"name":"InvalidHolder","type":"error","inputs":[{"type":"bytes32","name":"role"},{"type":"address","name":"holder"}]},
  {"name":"MissingRole","type":"error","inputs":[{"type":"bytes32","name":"role"},{"type":"address","name":"caller"}]},
  {"name":"RoleNotOffered","type":"error","inputs":[{"type":"bytes32","name":"role"},{"type":"address","name":"caller"}]},
  {"name":"ResultCommitted","type":"event","inputs":[{"type":"bytes32","name":"jobId","indexed":true},{"type":"bytes32","name":"receiptHash"}]},
  {"name":"ResultConflict","type":"event","inputs":[{"type":"bytes32","name":"jobId","indexed":true},{"type":"bytes32","name":"recordedReceiptHash"},{"type":"bytes32","name":"offeredReceiptHash"}]},
  {"name":"RoleOffered","type":"event","inputs":[{"type":"bytes32","name":"role","indexed":true},{"type":"address","name":"holder","indexed":true},{"type":"address","name":"next","indexed":true}]},
  {"name":"RoleTransferred","type":"event","inputs":[{"type":"bytes32","name":"role","indexed":true},{"type":"address","name":"previous","indexed":true},{"type":"address","name":"holder","indexed":true}]},
  {"name":"COORDINATOR","type":"function","stateMutability":"view","inputs":[],"outputs":[{"type":"bytes32"}]},
  {"name":"acceptRole","type":"function","stateMutability":"nonpayable","inputs":[{"type":"bytes32","name":"role"}],"outputs":[]},
  {"name":"commitResults","type":"function","stateMutability":"nonpayable","inputs":[{"type":"tuple[]","name":"results","components":[{"type":"bytes32","name":"jobId"},{"type":"bytes32","name":"receiptHash"}]}],"outputs":[]},
  {"name":"holderOf","type":"function","stateMutability":"view","inputs":[{"type":"bytes32","name":"role"}],"outputs":[{"type":"address","name":"holder"}]},
  {"name":"offerRole","type":"function","stateMutability":"nonpayable","inputs":[{"type":"bytes32","name":"role"},{"type":"address","name":"next"}],"outputs":[]},
  {"name":"pendingHolderOf","type":"function","stateMutability":"view","inputs":[{"type":"bytes32","name":"role"}],"outputs":[{"type":"address","name":"next"}]},
  {"name":"resultOf","type":"function","stateMutability":"view","inputs":[{"type":"bytes32","name":"jobId"}],"outputs":[{"type":"bytes32","name":"receiptHash"}]},
] as const
