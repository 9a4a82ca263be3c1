// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {LocalMockTaskManager} from "./LocalMockTaskManager.sol";
import {LocalTaskManager, Permission} from "./LocalTaskManager.sol";

/// @notice DEVELOPMENT ONLY: replaces the threshold network. It checks permits as the real one does.
contract LocalThresholdNetwork {
    LocalMockTaskManager private constant TASK_MANAGER =
        LocalMockTaskManager(0xeA30c4B8b44078Bbf8a6ef5b9f1eC1626C7848D9);

    /// @notice The value behind a handle, sealed by XOR with the permit's key, or the reason for the refusal.
    function querySealOutput(uint256 handle, uint256, Permission memory permission)
        external
        view
        returns (bool allowed, string memory refusal, bytes32 sealedValue)
    {
        try TASK_MANAGER.isAllowedWithPermission(permission, handle) returns (bool ok) {
            if (!ok) return (false, "NotAllowed", 0);
        } catch (bytes memory reason) {
            return (false, _nameOf(bytes4(reason)), 0);
        }
        (uint256 plaintext, bool known) = TASK_MANAGER.plaintextOf(handle);
        if (!known) return (false, "UnknownHandle", 0);
        return (true, "", bytes32(plaintext) ^ permission.sealingKey);
    }

    function _nameOf(bytes4 selector) private pure returns (string memory) {
        if (selector == LocalTaskManager.PermissionInvalid_Expired.selector) return "PermissionInvalid_Expired";
        if (selector == LocalTaskManager.PermissionInvalid_IssuerSignature.selector) {
            return "PermissionInvalid_IssuerSignature";
        }
        if (selector == LocalTaskManager.PermissionInvalid_RecipientSignature.selector) {
            return "PermissionInvalid_RecipientSignature";
        }
        return "PermissionInvalid_Disabled";
    }
}
