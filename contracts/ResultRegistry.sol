// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TwoStepRoles} from "./TwoStepRoles.sol";

/// @notice The hash of the receipt of one accepted job.
struct Result {
    bytes32 jobId;
    bytes32 receiptHash;
}

/// @notice The public, immutable record of accepted inference results. The receipts say the rest.
contract ResultRegistry is TwoStepRoles {
    /// @notice The role that commits results.
    bytes32 public constant COORDINATOR = "coordinator";

    /// @notice The hash of a job's receipt, zero when there is no result.
    mapping(bytes32 jobId => bytes32 receiptHash) public resultOf;

    /// @notice A job's result was recorded.
    event ResultCommitted(bytes32 indexed jobId, bytes32 receiptHash);

    /// @notice A different result for a recorded job was offered and ignored.
    event ResultConflict(bytes32 indexed jobId, bytes32 recordedReceiptHash, bytes32 offeredReceiptHash);

    /// @notice Sets the coordinator.
    constructor(address coordinator) {
        _setRole(COORDINATOR, coordinator);
    }

    /// @notice Records results. Skips an equal entry, and emits a conflict for a different one of a recorded job.
    function commitResults(Result[] calldata results) external onlyRole(COORDINATOR) {
        for (uint256 i = 0; i < results.length; i++) {
            _commit(results[i].jobId, results[i].receiptHash);
        }
    }

    /// @dev A hash of zero records nothing.
    function _commit(bytes32 jobId, bytes32 receiptHash) private {
        bytes32 recorded = resultOf[jobId];
        if (recorded == receiptHash) return;
        if (recorded != 0) {
            emit ResultConflict(jobId, recorded, receiptHash);
            return;
        }
        resultOf[jobId] = receiptHash;
        emit ResultCommitted(jobId, receiptHash);
    }
}
