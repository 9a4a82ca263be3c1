// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice What this project reads from the coprocessor's task manager, and how its calls revert.
interface CofheTaskManager {
    /// @notice An input was not signed for this sender by the coprocessor's verifier.
    error InvalidSigner(address signer, address expected);

    /// @notice The account may not use the handle.
    error ACLNotAllowed(uint256 handle, address account);

    /// @notice The contract that answers for access rights.
    function acl() external view returns (address);

    /// @notice Whether an account may use and decrypt a handle.
    function isAllowed(uint256 handle, address account) external view returns (bool);

    /// @notice Whether everybody may decrypt a handle.
    function isPubliclyAllowed(uint256 handle) external view returns (bool);
}
