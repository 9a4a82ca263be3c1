// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FHE, InEuint128, euint128} from "@fhenixprotocol/cofhe-contracts/FHE.sol";

/// @notice What the key store asks the node registry.
interface ActiveNodes {
    /// @notice Whether an operator may be given work.
    function isActive(address operator) external view returns (bool);
}

/// @notice Keeps AES keys as two encrypted 128-bit halves and decides who may decrypt them.
contract PromptKeyStore {
    struct Record {
        address owner;
        uint64 until;
        uint32 grantsLeft;
        address delegate;
        uint256 lowHandle;
    }

    /// @notice The most readers that one `storeKey` may name.
    uint256 public constant MAX_READERS = 16;

    /// @notice Where a delegate's grants are checked.
    ActiveNodes public immutable nodeRegistry;

    uint256 private constant UINT128_TYPE = 6;

    mapping(uint256 highHandle => Record record) private _records;
    mapping(uint256 handle => bool taken) private _taken;

    /// @notice A key was stored under these two stored handles.
    event KeyStored(address indexed owner, uint256 indexed highHandle, uint256 indexed lowHandle);

    /// @notice The owner lets `delegate` grant access to up to `maxGrants` active nodes until `until` (Unix seconds).
    event AccessDelegated(
        uint256 indexed highHandle, uint256 lowHandle, address indexed delegate, uint32 maxGrants, uint64 until
    );

    /// @notice `by` gave `reader` access to both halves, for good.
    event AccessGranted(uint256 indexed highHandle, uint256 lowHandle, address indexed reader, address indexed by);

    /// @notice The two halves are the same ciphertext.
    error EqualHalves(uint256 handle);

    /// @notice The handle belongs to a record already.
    error HandleTaken(uint256 handle);

    /// @notice The handle is no encrypted uint128, or everybody may read it.
    error InvalidHandle(uint256 handle);

    /// @notice The coprocessor does not allow this account to use the handle.
    error HandleNotAllowed(uint256 handle, address account);

    /// @notice More readers than `MAX_READERS`.
    error TooManyReaders(uint256 count);

    /// @notice The zero address cannot read.
    error InvalidReader();

    /// @notice A delegation needs a delegate, at least one grant and an end in the future, or none of them.
    error InvalidDelegation();

    /// @notice The two handles are not one record.
    error UnknownKey(uint256 highHandle, uint256 lowHandle);

    /// @notice The caller is neither the key's owner nor its delegate.
    error NotAuthorized(address caller);

    /// @notice The delegation ended at `until` (Unix seconds).
    error DelegationExpired(uint64 until);

    /// @notice The delegate has used all its grants.
    error NoGrantsLeft();

    /// @notice A delegate can give access to active nodes only.
    error NodeNotActive(address reader);

    /// @notice Sets the node registry, for good.
    constructor(ActiveNodes nodeRegistry_) {
        nodeRegistry = nodeRegistry_;
    }

    /// @notice Verifies and stores two encrypted halves that only the caller may read.
    function storeKey(InEuint128 calldata high, InEuint128 calldata low) external {
        _store(FHE.asEuint128(high), FHE.asEuint128(low));
    }

    /// @notice Stores two halves that the coprocessor knows and lets both the caller and this contract use.
    function storeKey(uint256 highHandle, uint256 lowHandle) external {
        _checkVerified(highHandle);
        _checkVerified(lowHandle);
        _store(euint128.wrap(bytes32(highHandle)), euint128.wrap(bytes32(lowHandle)));
    }

    /// @notice Verifies and stores two encrypted halves, names readers, and may delegate further grants.
    function storeKey(
        InEuint128 calldata high,
        InEuint128 calldata low,
        address[] calldata readers,
        address delegate,
        uint32 maxGrants,
        uint64 until
    ) external {
        if (readers.length > MAX_READERS) revert TooManyReaders(readers.length);
        (uint256 highHandle, uint256 lowHandle) = _store(FHE.asEuint128(high), FHE.asEuint128(low));
        for (uint256 i = 0; i < readers.length; i++) {
            _grant(highHandle, lowHandle, readers[i]);
        }
        if (delegate == address(0)) {
            if (maxGrants != 0 || until != 0) revert InvalidDelegation();
            return;
        }
        if (maxGrants == 0 || until <= block.timestamp) revert InvalidDelegation();
        Record storage record = _records[highHandle];
        record.delegate = delegate;
        record.grantsLeft = maxGrants;
        record.until = until;
        emit AccessDelegated(highHandle, lowHandle, delegate, maxGrants, until);
    }

    /// @notice Gives `reader` access for good; the owner to anybody, the delegate within its limits to active nodes.
    function grantAccess(uint256 highHandle, uint256 lowHandle, address reader) external {
        Record storage record = _records[highHandle];
        if (record.owner == address(0) || record.lowHandle != lowHandle) revert UnknownKey(highHandle, lowHandle);
        bool byOwner = record.owner == msg.sender;
        if (!byOwner && record.delegate != msg.sender) revert NotAuthorized(msg.sender);
        // A grant that is sent twice changes nothing and costs the delegate nothing.
        if (_mayRead(highHandle, reader) && _mayRead(lowHandle, reader)) return;
        if (!byOwner) {
            if (block.timestamp > record.until) revert DelegationExpired(record.until);
            if (record.grantsLeft == 0) revert NoGrantsLeft();
            if (!nodeRegistry.isActive(reader)) revert NodeNotActive(reader);
            record.grantsLeft -= 1;
        }
        _grant(highHandle, lowHandle, reader);
    }

    /// @notice Who owns a key and what its delegate may still do; `owner` is zero when the two are not one record.
    function recordOf(uint256 highHandle, uint256 lowHandle)
        external
        view
        returns (address owner, address delegate, uint32 grantsLeft, uint64 until)
    {
        Record storage record = _records[highHandle];
        if (record.lowHandle != lowHandle) return (address(0), address(0), 0, 0);
        return (record.owner, record.delegate, record.grantsLeft, record.until);
    }

    function _store(euint128 high, euint128 low) private returns (uint256 highHandle, uint256 lowHandle) {
        highHandle = uint256(euint128.unwrap(high));
        lowHandle = uint256(euint128.unwrap(low));
        if (highHandle == lowHandle) revert EqualHalves(highHandle);
        _take(highHandle);
        _take(lowHandle);
        Record storage record = _records[highHandle];
        record.owner = msg.sender;
        record.lowHandle = lowHandle;
        FHE.allowThis(high);
        FHE.allowThis(low);
        FHE.allowSender(high);
        FHE.allowSender(low);
        emit KeyStored(msg.sender, highHandle, lowHandle);
    }

    function _take(uint256 handle) private {
        if (_taken[handle]) revert HandleTaken(handle);
        _taken[handle] = true;
    }

    function _grant(uint256 highHandle, uint256 lowHandle, address reader) private {
        if (reader == address(0)) revert InvalidReader();
        FHE.allow(euint128.wrap(bytes32(highHandle)), reader);
        FHE.allow(euint128.wrap(bytes32(lowHandle)), reader);
        emit AccessGranted(highHandle, lowHandle, reader, msg.sender);
    }

    function _checkVerified(uint256 handle) private {
        euint128 encrypted = euint128.wrap(bytes32(handle));
        if ((handle >> 8) & 0x7f != UINT128_TYPE || FHE.isPubliclyAllowed(encrypted)) revert InvalidHandle(handle);
        if (!FHE.isAllowed(encrypted, msg.sender)) revert HandleNotAllowed(handle, msg.sender);
        if (!FHE.isAllowed(encrypted, address(this))) revert HandleNotAllowed(handle, address(this));
    }

    function _mayRead(uint256 handle, address reader) private returns (bool) {
        return FHE.isAllowed(euint128.wrap(bytes32(handle)), reader);
    }
}
