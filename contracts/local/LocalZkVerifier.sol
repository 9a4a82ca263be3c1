// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {LocalTaskManager} from "./LocalTaskManager.sol";

/// @notice DEVELOPMENT ONLY: stands in for the proof verifier; plaintexts arrive in the open.
contract LocalZkVerifier {
    LocalTaskManager private constant TASK_MANAGER = LocalTaskManager(0xeA30c4B8b44078Bbf8a6ef5b9f1eC1626C7848D9);

    uint256 private _inserted;

    /// @notice The raw ciphertext hashes that these values get for this user.
    function zkVerifyCalcCtHashesPacked(
        uint256[] calldata values,
        uint8[] calldata utypes,
        address user,
        uint8 securityZone,
        uint256 chainId
    ) external view returns (uint256[] memory ctHashes) {
        ctHashes = new uint256[](values.length);
        for (uint256 i = 0; i < values.length; i++) {
            bytes32 hash = keccak256(abi.encode(values, utypes, user, securityZone, chainId, _inserted, i));
            // The odd last bit keeps a raw hash from ever equalling its stored handle, as it never would in practice.
            ctHashes[i] = uint256(hash) | 1;
        }
    }

    /// @notice Records the plaintexts behind raw ciphertext hashes.
    function insertPackedCtHashes(uint256[] calldata ctHashes, uint256[] calldata values) external {
        _inserted++;
        for (uint256 i = 0; i < ctHashes.length; i++) {
            TASK_MANAGER.recordPlaintext(ctHashes[i], values[i]);
        }
    }
}
