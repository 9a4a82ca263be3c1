// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The part of the coprocessor's task manager that this project reads, and its errors.
interface CofheTaskManager {
    /// @notice The coprocessor's verifier did not sign the input for this sender.
    error InvalidSigner(address signer, address expected);

    /// @notice The account may not use the handle.
    error ACLNotAllowed(uint256 handle, address account);

    /// @notice The contract that decides about access to handles.
    function acl() external view returns (address);

    /// @notice Whether an account may use and decrypt a handle.
    function isAllowed(uint256 handle, address account) external view returns (bool);

    /// @notice Whether anyone may decrypt a handle.
    function isPubliclyAllowed(uint256 handle) external view returns (bool);
}
