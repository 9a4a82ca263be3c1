// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TwoStepRoles} from "./TwoStepRoles.sol";

/// @notice The outcome of one accepted job.
struct Result {
    bytes32 jobId;
    bytes32 outputCidHash;
    bytes32 receiptHash;
    address leader;
    uint16 matchCount;
    uint16 noMatchCount;
    address[] verifiers;
}

/// @notice The public, immutable record of accepted inference results.
contract ResultRegistry is TwoStepRoles {
    struct Entry {
        bytes32 outputCidHash;
        bytes32 receiptHash;
        address leader;
        uint16 matchCount;
        uint16 noMatchCount;
        uint64 committedAt;
        address[] verifiers;
    }

    /// @notice The role that commits results.
    bytes32 public constant COORDINATOR = "coordinator";

    mapping(bytes32 jobId => Entry entry) private _entries;

    /// @notice A job's result was recorded.
    event ResultCommitted(
        bytes32 indexed jobId,
        bytes32 outputCidHash,
        bytes32 receiptHash,
        address indexed leader,
        address[] verifiers,
        uint16 matchCount,
        uint16 noMatchCount
    );

    /// @notice A different result for a recorded job was offered and ignored.
    event ResultConflict(
        bytes32 indexed jobId, bytes32 recordedReceiptHash, bytes32 offeredReceiptHash, bytes32 offeredOutputCidHash
    );

    /// @notice Sets the coordinator.
    constructor(address coordinator) {
        _setRole(COORDINATOR, coordinator);
    }

    /// @notice Records results. Skips an equal entry, and emits a conflict for a different one of a recorded job.
    function commitResults(Result[] calldata results) external onlyRole(COORDINATOR) {
        for (uint256 i = 0; i < results.length; i++) {
            _commit(results[i]);
        }
    }

    /// @notice The recorded result of a job, and when it was committed (Unix seconds, zero when there is none).
    function resultOf(bytes32 jobId) external view returns (Result memory result, uint64 committedAt) {
        Entry storage entry = _entries[jobId];
        committedAt = entry.committedAt;
        if (committedAt == 0) return (result, 0);
        result = Result({
            jobId: jobId,
            outputCidHash: entry.outputCidHash,
            receiptHash: entry.receiptHash,
            leader: entry.leader,
            matchCount: entry.matchCount,
            noMatchCount: entry.noMatchCount,
            verifiers: entry.verifiers
        });
    }

    function _commit(Result calldata result) private {
        Entry storage entry = _entries[result.jobId];
        if (entry.committedAt != 0) {
            if (_equal(entry, result)) return;
            emit ResultConflict(result.jobId, entry.receiptHash, result.receiptHash, result.outputCidHash);
            return;
        }
        entry.outputCidHash = result.outputCidHash;
        entry.receiptHash = result.receiptHash;
        entry.leader = result.leader;
        entry.matchCount = result.matchCount;
        entry.noMatchCount = result.noMatchCount;
        entry.committedAt = uint64(block.timestamp);
        entry.verifiers = result.verifiers;
        emit ResultCommitted(
            result.jobId,
            result.outputCidHash,
            result.receiptHash,
            result.leader,
            result.verifiers,
            result.matchCount,
            result.noMatchCount
        );
    }

    function _equal(Entry storage entry, Result calldata result) private view returns (bool) {
        return entry.outputCidHash == result.outputCidHash && entry.receiptHash == result.receiptHash
            && entry.leader == result.leader && entry.matchCount == result.matchCount
            && entry.noMatchCount == result.noMatchCount
            && keccak256(abi.encode(entry.verifiers)) == keccak256(abi.encode(result.verifiers));
    }
}
