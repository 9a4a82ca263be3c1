// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {FHE, InEuint128, euint128} from "@fhenixprotocol/cofhe-contracts/FHE.sol";

/// @notice The part of the node registry that the key store calls.
interface ActiveNodes {
    /// @notice Whether an operator may be given work.
    function isActive(address operator) external view returns (bool);
}

/// @notice Keeps AES keys as two encrypted 128-bit halves and decides which accounts may decrypt them: the owner, the
/// nodes of a prompt key's one list, and the readers that are named when an output key is stored.
contract PromptKeyStore {
    struct Record {
        address owner;
        /// @dev Bit i: the list gave the node at position i access.
        uint16 used;
        bool ended;
        bool isOutput;
        bytes32 commitment;
    }

    /// @notice The smallest number of nodes on a list.
    uint256 public constant MIN_LIST = 3;

    /// @notice The largest number of nodes on a list.
    uint256 public constant MAX_LIST = 16;

    /// @notice The registry that must list a node as active before `activate`.
    ActiveNodes public immutable nodeRegistry;

    uint256 private constant UINT128_TYPE = 6;

    mapping(uint256 highHandle => Record record) private _records;
    mapping(uint256 lowHandle => uint256 highHandle) private _highOf;
    mapping(address owner => mapping(uint256 highHandle => uint256 lowHandle)) private _handles;

    /// @notice A key whose inputs the coprocessor verified for `owner` was stored under these two stored handles, with a
    /// hash of the job's terms (zero: none).
    event KeyStored(address indexed owner, uint256 indexed highHandle, uint256 indexed lowHandle, bytes32 terms);

    /// @notice `owner`, which may use both handles, recorded them.
    event HandlesStored(address indexed owner, uint256 indexed highHandle, uint256 indexed lowHandle);

    /// @notice The owner bound the key to a job and a list of nodes. The nodes in `mask` have access from now on.
    /// @dev `jobId` is the owner's claim: other owners may name the same one for their keys.
    event ListCommitted(
        uint256 indexed highHandle, uint256 lowHandle, bytes32 indexed jobId, bytes32 commitment,
        uint16 mask, address indexed activator, uint64 until
    );

    /// @notice From now on `activate` gives no further node of the list access.
    event ListEnded(uint256 indexed highHandle, uint256 lowHandle);

    /// @notice The node at position `self` of the list stored an output key, with the nodes in `mask` as readers.
    event OutputKeyStored(
        uint256 indexed highHandle, uint256 indexed promptHighHandle, bytes32 indexed jobId, uint8 self, uint16 mask
    );

    /// @notice `by` gave `reader` access to both halves. Access cannot be withdrawn.
    event AccessGranted(uint256 indexed highHandle, uint256 lowHandle, address indexed reader, address indexed by);

    /// @notice The two halves are the same ciphertext.
    error EqualHalves(uint256 handle);
    /// @notice The handle already belongs to a record.
    error HandleTaken(uint256 handle);
    /// @notice The handle is not an encrypted uint128, or anyone may read it.
    error InvalidHandle(uint256 handle);
    /// @notice The coprocessor does not allow this account to use the handle.
    error HandleNotAllowed(uint256 handle, address account);
    /// @notice The two handles do not belong to one record.
    error UnknownKey(uint256 highHandle, uint256 lowHandle);
    /// @notice The caller does not own the key.
    error NotAuthorized(address caller);
    /// @notice `activate` gives access to active nodes only.
    error NodeNotActive(address node);
    /// @notice The readers of an output key are named when it is stored. For other readers, store another key.
    error ReadersFixed(uint256 highHandle);
    /// @notice The key has a list, which cannot change. Store another key for another list.
    error ListAlreadyCommitted(uint256 highHandle);
    /// @notice The owner ended the list. Only the owner can help, by storing another key.
    error ListHasEnded(uint256 highHandle);
    /// @notice The list expired at `until` (Unix seconds).
    error ListExpired(uint64 until);
    /// @notice A list has `MIN_LIST` to `MAX_LIST` nodes.
    error InvalidListLength(uint256 length);
    /// @notice The list's entry at `index` is zero, the key's owner, or equal to an earlier entry.
    error InvalidListEntry(uint256 index);
    /// @notice A mask must have at least one position, and only positions of the list.
    error InvalidMask(uint16 mask);
    /// @notice The activator is zero.
    error InvalidActivator();
    /// @notice The key's commitment is for another job, activator, end or list, or there is none.
    error WrongList(bytes32 commitment);
    /// @notice The list has no such position, or the position has another address.
    error NotOnList(uint8 index);
    /// @notice The nodes at these positions have no access to the prompt key.
    error NotActivated(uint16 mask);

    /// @notice Sets the node registry. It cannot change.
    constructor(ActiveNodes nodeRegistry_) {
        nodeRegistry = nodeRegistry_;
    }

    /// @notice Verifies and stores two encrypted halves that only the caller may read.
    function storeKey(InEuint128 calldata high, InEuint128 calldata low) external {
        _store(FHE.asEuint128(high), FHE.asEuint128(low), 0);
    }

    /// @notice The same, with a hash of the terms of the job that the key is for.
    function storeKey(InEuint128 calldata high, InEuint128 calldata low, bytes32 terms) external {
        _store(FHE.asEuint128(high), FHE.asEuint128(low), terms);
    }

    /// @notice Records two handles that the caller may use. Such a record is no key: it has no list, and other accounts can
    /// record the same handles, or store the key whose handles they are.
    function storeKey(uint256 highHandle, uint256 lowHandle) external {
        _checkUsable(highHandle);
        _checkUsable(lowHandle);
        if (highHandle == lowHandle) revert EqualHalves(highHandle);
        if (_handles[msg.sender][highHandle] != 0) revert HandleTaken(highHandle);
        _handles[msg.sender][highHandle] = lowHandle;
        emit HandlesStored(msg.sender, highHandle, lowHandle);
    }

    /// @notice Binds the caller's key once to one job and one list of nodes, and gives the nodes in `mask` access.
    /// @param list `MIN_LIST` to `MAX_LIST` distinct nodes, in the order of the draw; bit i of `mask` is `list[i]`.
    /// @param activator The account that may give further nodes of the list access until `until` (Unix seconds).
    function commitList(
        uint256 highHandle,
        uint256 lowHandle,
        bytes32 jobId,
        address[] calldata list,
        uint16 mask,
        address activator,
        uint64 until
    ) external {
        Record storage record = _ownRecord(highHandle, lowHandle);
        if (record.commitment != 0) revert ListAlreadyCommitted(highHandle);
        if (record.ended) revert ListHasEnded(highHandle);
        _checkList(list);
        if (mask == 0 || mask >> list.length != 0) revert InvalidMask(mask);
        if (activator == address(0)) revert InvalidActivator();
        if (until <= block.timestamp) revert ListExpired(until);
        bytes32 commitment = keccak256(abi.encode(jobId, activator, until, list));
        record.commitment = commitment;
        record.used = mask;
        emit ListCommitted(highHandle, lowHandle, jobId, commitment, mask, activator, until);
        _grantAll(highHandle, lowHandle, list, mask);
    }

    /// @notice Gives the active node `list[index]` access. Only the list's activator may call it, until `until`. Does
    /// nothing for a node that has access by the list.
    function activate(
        uint256 highHandle,
        uint256 lowHandle,
        bytes32 jobId,
        address[] calldata list,
        uint64 until,
        uint8 index
    ) external {
        Record storage record = _knownRecord(highHandle, lowHandle);
        _checkCommitment(record, jobId, msg.sender, until, list);
        if (index >= list.length) revert NotOnList(index);
        uint16 used = record.used;
        uint16 withIndex = used | _bit(index);
        if (used == withIndex) return;
        if (record.ended) revert ListHasEnded(highHandle);
        if (block.timestamp > until) revert ListExpired(until);
        if (!nodeRegistry.isActive(list[index])) revert NodeNotActive(list[index]);
        record.used = withIndex;
        _grant(highHandle, lowHandle, list[index]);
    }

    /// @notice Stops `activate` for the caller's key. If the key has no list, none can be committed any more.
    function endList(uint256 highHandle, uint256 lowHandle) external {
        Record storage record = _ownRecord(highHandle, lowHandle);
        if (record.ended) return;
        record.ended = true;
        emit ListEnded(highHandle, lowHandle);
    }

    /// @notice Stores an output key of a node that has access to the prompt key `promptHighHandle` by its list. Its
    /// readers are the node, the prompt key's owner, and the nodes of the list in `mask`. They cannot change.
    /// @param self The caller's position on the list. Its own bit in `mask` changes nothing.
    function storeKey(
        InEuint128 calldata high,
        InEuint128 calldata low,
        uint256 promptHighHandle,
        bytes32 jobId,
        address activator,
        uint64 until,
        address[] calldata list,
        uint8 self,
        uint16 mask
    ) external {
        _checkCommitment(_records[promptHighHandle], jobId, activator, until, list);
        if (self >= list.length || list[self] != msg.sender) revert NotOnList(self);
        uint16 missing = (mask | _bit(self)) & ~_records[promptHighHandle].used;
        if (missing != 0) revert NotActivated(missing);
        (uint256 highHandle, uint256 lowHandle) = _store(FHE.asEuint128(high), FHE.asEuint128(low), 0);
        _records[highHandle].isOutput = true;
        emit OutputKeyStored(highHandle, promptHighHandle, jobId, self, mask);
        _grant(highHandle, lowHandle, _records[promptHighHandle].owner);
        _grantAll(highHandle, lowHandle, list, mask & ~_bit(self));
    }

    /// @notice The owner of a key, zero when the two handles do not belong to one record.
    function ownerOf(uint256 highHandle, uint256 lowHandle) external view returns (address) {
        Record storage record = _records[highHandle];
        return _highOf[lowHandle] == highHandle ? record.owner : address(0);
    }

    /// @notice The low handle that an account recorded with a high one by `storeKey(highHandle, lowHandle)`, zero for none.
    function lowHandleOf(address owner, uint256 highHandle) external view returns (uint256) {
        return _handles[owner][highHandle];
    }

    /// @notice A key's list: its commitment (zero: none), the positions that have access, and whether it was ended.
    /// @return commitment keccak256(abi.encode(jobId, activator, until, list))
    function listOf(uint256 highHandle, uint256 lowHandle)
        external
        view
        returns (bytes32 commitment, uint16 used, bool ended)
    {
        Record storage record = _records[highHandle];
        if (_highOf[lowHandle] != highHandle) return (0, 0, false);
        return (record.commitment, record.used, record.ended);
    }

    function _store(euint128 high, euint128 low, bytes32 terms)
        private returns (uint256 highHandle, uint256 lowHandle)
    {
        highHandle = uint256(euint128.unwrap(high));
        lowHandle = uint256(euint128.unwrap(low));
        if (highHandle == lowHandle) revert EqualHalves(highHandle);
        _checkFree(highHandle);
        _checkFree(lowHandle);
        Record storage record = _records[highHandle];
        record.owner = msg.sender;
        _highOf[lowHandle] = highHandle;
        FHE.allowThis(high);
        FHE.allowThis(low);
        FHE.allowSender(high);
        FHE.allowSender(low);
        emit KeyStored(msg.sender, highHandle, lowHandle, terms);
    }

    function _checkFree(uint256 handle) private view {
        if (_records[handle].owner != address(0) || _highOf[handle] != 0) revert HandleTaken(handle);
    }

    function _grant(uint256 highHandle, uint256 lowHandle, address reader) private {
        FHE.allow(euint128.wrap(bytes32(highHandle)), reader);
        FHE.allow(euint128.wrap(bytes32(lowHandle)), reader);
        emit AccessGranted(highHandle, lowHandle, reader, msg.sender);
    }

    function _grantAll(uint256 highHandle, uint256 lowHandle, address[] calldata list, uint16 mask) private {
        for (uint256 i = 0; i < list.length; i++) {
            if ((mask >> i) & 1 == 1) _grant(highHandle, lowHandle, list[i]);
        }
    }

    function _knownRecord(uint256 highHandle, uint256 lowHandle) private view returns (Record storage record) {
        record = _records[highHandle];
        if (record.owner == address(0) || _highOf[lowHandle] != highHandle) revert UnknownKey(highHandle, lowHandle);
    }

    /// @dev The caller's prompt key, which may have or get a list.
    function _ownRecord(uint256 highHandle, uint256 lowHandle) private view returns (Record storage record) {
        record = _knownRecord(highHandle, lowHandle);
        if (record.owner != msg.sender) revert NotAuthorized(msg.sender);
        if (record.isOutput) revert ReadersFixed(highHandle);
    }

    function _checkList(address[] calldata list) private view {
        if (list.length < MIN_LIST || list.length > MAX_LIST) revert InvalidListLength(list.length);
        for (uint256 i = 0; i < list.length; i++) {
            address node = list[i];
            if (node == address(0) || node == msg.sender) revert InvalidListEntry(i);
            for (uint256 j = 0; j < i; j++) {
                if (list[j] == node) revert InvalidListEntry(i);
            }
        }
    }

    function _checkCommitment(
        Record storage record,
        bytes32 jobId,
        address activator,
        uint64 until,
        address[] calldata list
    ) private view {
        bytes32 commitment = record.commitment;
        if (commitment != keccak256(abi.encode(jobId, activator, until, list))) revert WrongList(commitment);
    }

    /// @dev The bit of a list position, which is below 16.
    function _bit(uint8 index) private pure returns (uint16) {
        return uint16(1 << index);
    }

    /// @dev The handle is an encrypted uint128 that the caller may use, and not everybody.
    function _checkUsable(uint256 handle) private {
        euint128 encrypted = euint128.wrap(bytes32(handle));
        if ((handle >> 8) & 0x7f != UINT128_TYPE || FHE.isPubliclyAllowed(encrypted)) revert InvalidHandle(handle);
        if (!FHE.isAllowed(encrypted, msg.sender)) revert HandleNotAllowed(handle, msg.sender);
    }
}
