// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {LocalTaskManager} from "./LocalTaskManager.sol";

/// @notice DEVELOPMENT ONLY: the task manager for the SDK's mock mode. It keeps plaintexts unencrypted.
contract LocalMockTaskManager is LocalTaskManager {
    uint256 private constant KNOWN_MARK = 1 << 255;

    /// @notice The storage slot of the plaintext behind a handle. Its highest bit is set once the plaintext is known.
    /// @dev The encrypting process writes it there directly, so that no transaction of a local chain carries a plaintext.
    function plaintextSlot(uint256 handle) public pure returns (bytes32) {
        return keccak256(abi.encode("svc.local.plaintext", handle & ~METADATA_MASK));
    }

    /// @notice The plaintext behind a handle and whether it is known.
    function plaintextOf(uint256 handle) external view returns (uint256 plaintext, bool known) {
        bytes32 slot = plaintextSlot(handle);
        uint256 marked;
        assembly {
            marked := sload(slot)
        }
        return (marked & ~KNOWN_MARK, marked & KNOWN_MARK != 0);
    }
}
