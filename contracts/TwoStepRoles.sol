// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Named roles with one holder each. A handover takes two steps, so that a mistyped address cannot take a role.
abstract contract TwoStepRoles {
    /// @notice The address that holds a role, zero when the contract has no such role.
    mapping(bytes32 role => address holder) public holderOf;

    /// @notice The address that may accept a role, zero when there is no offer.
    mapping(bytes32 role => address next) public pendingHolderOf;

    /// @notice A holder offered its role to `next`.
    event RoleOffered(bytes32 indexed role, address indexed holder, address indexed next);

    /// @notice A role passed from `previous` to `holder`.
    event RoleTransferred(bytes32 indexed role, address indexed previous, address indexed holder);

    /// @notice The caller does not hold the role that this call needs.
    error MissingRole(bytes32 role, address caller);

    /// @notice The caller was not offered the role.
    error RoleNotOffered(bytes32 role, address caller);

    /// @notice The address cannot hold the role.
    error InvalidHolder(bytes32 role, address holder);

    modifier onlyRole(bytes32 role) {
        if (holderOf[role] != msg.sender) revert MissingRole(role, msg.sender);
        _;
    }

    /// @notice Offers the caller's role to `next`, or withdraws the offer when `next` is zero.
    function offerRole(bytes32 role, address next) external onlyRole(role) {
        pendingHolderOf[role] = next;
        emit RoleOffered(role, msg.sender, next);
    }

    /// @notice Takes a role that the caller was offered by its holder.
    function acceptRole(bytes32 role) external {
        if (msg.sender == address(0) || pendingHolderOf[role] != msg.sender) revert RoleNotOffered(role, msg.sender);
        delete pendingHolderOf[role];
        _setRole(role, msg.sender);
    }

    function _setRole(bytes32 role, address holder) internal {
        if (holder == address(0)) revert InvalidHolder(role, holder);
        _checkHolder(role, holder);
        address previous = holderOf[role];
        holderOf[role] = holder;
        emit RoleTransferred(role, previous, holder);
    }

    function _checkHolder(bytes32 role, address holder) internal view virtual {}
}
