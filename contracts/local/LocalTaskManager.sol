// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {EncryptedInput} from "@fhenixprotocol/cofhe-contracts/ICofhe.sol";
import {CofheTaskManager} from "../CofheTaskManager.sol";

/// @notice A permit as the coprocessor's SDK signs it.
struct Permission {
    address issuer;
    uint64 expiration;
    address recipient;
    uint256 validatorId;
    address validatorContract;
    bytes32 sealingKey;
    bytes issuerSignature;
    bytes recipientSignature;
}

/// @notice The interface of a permit's own validator.
interface PermitValidator {
    /// @notice Whether the issuer has disabled the permit.
    function disabled(address issuer, uint256 id) external view returns (bool);
}

/// @notice DEVELOPMENT ONLY: task manager and access list of a local chain.
/// @dev Placed with anvil_setCode at the SDK's fixed address, so it has no constructor and no immutables.
contract LocalTaskManager is CofheTaskManager {
    uint256 internal constant METADATA_MASK = 0xffff;
    uint256 private constant HALF_CURVE_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant SELF_TYPE = keccak256(
        "PermissionedV2IssuerSelf(address issuer,uint64 expiration,address recipient,uint256 validatorId,address validatorContract,bytes32 sealingKey)"
    );
    bytes32 private constant SHARED_TYPE = keccak256(
        "PermissionedV2IssuerShared(address issuer,uint64 expiration,address recipient,uint256 validatorId,address validatorContract)"
    );
    bytes32 private constant RECIPIENT_TYPE =
        keccak256("PermissionedV2Recipient(bytes32 sealingKey,bytes issuerSignature)");

    /// @notice The account that signs encrypted inputs, zero until `initialize`.
    address public verifierSigner;

    mapping(uint256 handle => mapping(address account => bool allowed)) private _allowed;
    mapping(uint256 handle => bool allowed) private _public;

    /// @notice An input was verified for `app`, submitted by `sender`.
    event InputVerified(uint256 indexed handle, address indexed sender, address indexed app);

    /// @notice `by` let `account` use a handle.
    event Allowed(uint256 indexed handle, address indexed account, address indexed by);

    /// @notice `initialize` ran before.
    error AlreadyInitialized();

    /// @notice The permit has expired.
    error PermissionInvalid_Expired();

    /// @notice The permit is not signed by its issuer.
    error PermissionInvalid_IssuerSignature();

    /// @notice The permit is not signed by its recipient.
    error PermissionInvalid_RecipientSignature();

    /// @notice The permit's validator has disabled it.
    error PermissionInvalid_Disabled();

    /// @notice Sets the signer of encrypted inputs, once.
    function initialize(address signer) external {
        if (verifierSigner != address(0)) revert AlreadyInitialized();
        verifierSigner = signer;
    }

    /// @notice This contract is its own access list.
    function acl() external view returns (address) {
        return address(this);
    }

    /// @notice Turns a signed raw ciphertext hash into the stored handle, which the calling contract may use.
    function verifyInput(EncryptedInput memory input, address sender) external returns (uint256 handle) {
        bytes32 digest =
            keccak256(abi.encodePacked(input.ctHash, input.utype, input.securityZone, sender, block.chainid));
        address signer = _recover(digest, input.signature);
        if (signer == address(0) || signer != verifierSigner) revert InvalidSigner(signer, verifierSigner);
        handle = (input.ctHash & ~METADATA_MASK) | (uint256(input.utype & 0x7f) << 8) | uint256(input.securityZone);
        _allowForTransaction(handle, msg.sender);
        emit InputVerified(handle, sender, msg.sender);
    }

    /// @notice Lets an account use a handle. This cannot be withdrawn.
    function allow(uint256 handle, address account) external {
        _requireAllowed(handle);
        _allowed[handle][account] = true;
        emit Allowed(handle, account, msg.sender);
    }

    /// @notice Lets anyone use a handle. This cannot be withdrawn.
    function allowGlobal(uint256 handle) external {
        _requireAllowed(handle);
        _public[handle] = true;
    }

    /// @notice Lets an account use a handle until the transaction ends.
    function allowTransient(uint256 handle, address account) external {
        _requireAllowed(handle);
        _allowForTransaction(handle, account);
    }

    /// @notice Whether a permit is valid and its issuer may use the handle.
    function isAllowedWithPermission(Permission memory permission, uint256 handle) external view returns (bool) {
        checkPermitValidity(permission);
        return isAllowed(handle, permission.issuer);
    }

    /// @notice Whether anyone may decrypt a handle.
    function isPubliclyAllowed(uint256 handle) external view returns (bool) {
        return _public[handle];
    }

    /// @notice The domain that permits are signed for (ERC-5267).
    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return (hex"0f", "ACL", "1", block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    /// @notice Whether an account may use and decrypt a handle.
    function isAllowed(uint256 handle, address account) public view returns (bool) {
        return _allowed[handle][account] || _public[handle] || _allowedForTransaction(handle, account);
    }

    /// @notice True for a valid permit. Reverts with the reason for an invalid one.
    function checkPermitValidity(Permission memory permission) public view returns (bool) {
        if (permission.expiration < block.timestamp) revert PermissionInvalid_Expired();
        address issuer = _recover(_typed(_issuerHash(permission)), permission.issuerSignature);
        if (issuer == address(0) || issuer != permission.issuer) revert PermissionInvalid_IssuerSignature();
        if (permission.recipient != address(0)) {
            bytes32 hash =
                keccak256(abi.encode(RECIPIENT_TYPE, permission.sealingKey, keccak256(permission.issuerSignature)));
            if (_recover(_typed(hash), permission.recipientSignature) != permission.recipient) {
                revert PermissionInvalid_RecipientSignature();
            }
        }
        if (
            permission.validatorId != 0 && permission.validatorContract != address(0)
                && PermitValidator(permission.validatorContract).disabled(permission.issuer, permission.validatorId)
        ) revert PermissionInvalid_Disabled();
        return true;
    }

    function _requireAllowed(uint256 handle) private view {
        if (!isAllowed(handle, msg.sender)) revert ACLNotAllowed(handle, msg.sender);
    }

    function _allowForTransaction(uint256 handle, address account) private {
        bytes32 slot = keccak256(abi.encodePacked(handle, account));
        assembly {
            tstore(slot, 1)
        }
    }

    function _allowedForTransaction(uint256 handle, address account) private view returns (bool allowed) {
        bytes32 slot = keccak256(abi.encodePacked(handle, account));
        assembly {
            allowed := tload(slot)
        }
    }

    function _typed(bytes32 structHash) private view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPE, keccak256("ACL"), keccak256("1"), block.chainid, address(this)));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    function _issuerHash(Permission memory p) private pure returns (bytes32) {
        if (p.recipient == address(0)) {
            return keccak256(
                abi.encode(
                    SELF_TYPE, p.issuer, p.expiration, p.recipient, p.validatorId, p.validatorContract, p.sealingKey
                )
            );
        }
        return keccak256(
            abi.encode(SHARED_TYPE, p.issuer, p.expiration, p.recipient, p.validatorId, p.validatorContract)
        );
    }

    function _recover(bytes32 digest, bytes memory signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        if (uint256(s) > HALF_CURVE_ORDER) return address(0);
        return ecrecover(digest, v, r, s);
    }
}
