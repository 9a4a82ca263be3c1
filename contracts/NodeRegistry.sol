// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TwoStepRoles} from "./TwoStepRoles.sol";

/// @notice The state of one operator, in one read.
struct NodeState {
    uint256 stake;
    uint8[] modelTiers;
    uint64 lastHeartbeat;
    uint64 registeredAt;
    uint64 unbondingAt;
    uint32 pendingSlashes;
    uint256 slashed;
    bool active;
}

/// @notice A proposed slash and its outcome.
struct Slash {
    address operator;
    uint64 executableAt;
    bool settled;
    uint256 amount;
    bytes32 evidenceHash;
    bytes32 answerHash;
}

/// @notice Stakes, model tiers and heartbeats of node operators, and slashes that an operator can answer.
contract NodeRegistry is TwoStepRoles {
    struct Node {
        uint128 stake;
        uint128 slashed;
        uint64 registeredAt;
        uint64 lastHeartbeat;
        uint64 unbondingAt;
        uint32 pendingSlashes;
        uint8[] modelTiers;
    }

    /// @notice The role that proposes slashes.
    bytes32 public constant COORDINATOR = "coordinator";

    /// @notice The role that cancels slashes. The coordinator can never hold it.
    bytes32 public constant ARBITER = "arbiter";

    /// @notice The role that receives slashed wei.
    bytes32 public constant TREASURY = "treasury";

    /// @notice Seconds after its last heartbeat in which a node counts as alive.
    uint64 public constant HEARTBEAT_WINDOW = 11 days;

    /// @notice Seconds between `beginUnbonding` and `withdraw`.
    uint64 public constant UNBONDING_PERIOD = 7 days;

    /// @notice Seconds in which an operator can answer and the arbiter can cancel, before a slash can be executed.
    uint64 public constant SLASH_WINDOW = 3 days;

    /// @notice The largest number of model tiers of one node.
    uint256 public constant MAX_MODEL_TIERS = 16;

    /// @notice The smallest stake of an active node, in wei.
    uint256 public immutable minStake;

    /// @notice The stake of all operators together, in wei.
    uint256 public totalStake;

    /// @notice Slashed wei that `payTreasury` has not paid out yet.
    uint256 public treasuryBalance;

    mapping(address operator => Node node) private _nodes;
    mapping(bytes32 faultId => Slash slash) private _slashes;

    /// @notice An operator joined with a stake.
    event Registered(address indexed operator, uint256 stake, uint8[] modelTiers);

    /// @notice An operator's stake grew by `amount` to `stake`.
    event StakeAdded(address indexed operator, uint256 amount, uint256 stake);

    /// @notice An operator serves these model tiers from now on.
    event ModelTiersSet(address indexed operator, uint8[] modelTiers);

    /// @notice An operator proved that it is alive.
    event Heartbeat(address indexed operator, uint64 time);

    /// @notice An operator is leaving and may withdraw from `withdrawableAt`.
    event UnbondingBegun(address indexed operator, uint64 withdrawableAt);

    /// @notice An operator stays registered.
    event UnbondingCancelled(address indexed operator);

    /// @notice An operator left with its stake.
    event Withdrawn(address indexed operator, uint256 amount);

    /// @notice The coordinator accused an operator of a fault.
    event SlashProposed(
        bytes32 indexed faultId, address indexed operator, uint256 amount, bytes32 evidenceHash, uint64 executableAt
    );

    /// @notice The accused operator answered.
    event SlashAnswered(bytes32 indexed faultId, address indexed operator, bytes32 answerHash);

    /// @notice A slash took `amount` wei of stake, which may be less than the proposed amount.
    event SlashExecuted(bytes32 indexed faultId, address indexed operator, uint256 amount);

    /// @notice The arbiter dismissed a slash.
    event SlashCancelled(bytes32 indexed faultId, address indexed operator);

    /// @notice Slashed wei was paid out.
    event TreasuryPaid(address indexed treasury, uint256 amount);

    /// @notice The operator is already registered.
    error AlreadyRegistered(address operator);

    /// @notice The address is not a registered operator.
    error NotRegistered(address operator);

    /// @notice The stake would be below the minimum.
    error StakeTooLow(uint256 stake, uint256 minimum);

    /// @notice The payment is zero wei, or more than the contract can account for.
    error InvalidAmount(uint256 amount);

    /// @notice There must be 1 to 16 model tiers, in strictly ascending order.
    error InvalidModelTiers();

    /// @notice The operator is unbonding.
    error Unbonding(address operator);

    /// @notice The operator is not unbonding.
    error NotUnbonding(address operator);

    /// @notice This is possible only from `time` on.
    error TooEarly(uint64 time);

    /// @notice The operator may already withdraw, so it can no longer be accused.
    error UnbondingOver(address operator);

    /// @notice The stake is frozen while slashes are pending.
    error StakeFrozen(uint32 pendingSlashes);

    /// @notice A slash for this fault was proposed before.
    error FaultAlreadyUsed(bytes32 faultId);

    /// @notice No slash for this fault is pending.
    error SlashNotPending(bytes32 faultId);

    /// @notice The slash accuses another node.
    error NotAccused(bytes32 faultId, address caller);

    /// @notice The slash was already answered.
    error AlreadyAnswered(bytes32 faultId);

    /// @notice A hash or identifier that must not be zero is zero.
    error EmptyHash();

    /// @notice The receiver refused the payment.
    error PaymentFailed(address receiver);

    /// @notice Sets the three roles, and the smallest stake in wei.
    constructor(address coordinator, address arbiter, address treasury, uint256 minStake_) {
        minStake = minStake_;
        _setRole(COORDINATOR, coordinator);
        _setRole(ARBITER, arbiter);
        _setRole(TREASURY, treasury);
    }

    /// @notice Registers the caller as an operator with the sent value as its stake. Counts as a heartbeat.
    function register(uint8[] calldata modelTiers) external payable {
        Node storage node = _nodes[msg.sender];
        if (node.registeredAt != 0) revert AlreadyRegistered(msg.sender);
        if (msg.value < minStake) revert StakeTooLow(msg.value, minStake);
        _checkModelTiers(modelTiers);
        node.registeredAt = uint64(block.timestamp);
        node.lastHeartbeat = uint64(block.timestamp);
        node.stake = _toUint128(msg.value);
        node.modelTiers = modelTiers;
        totalStake += msg.value;
        emit Registered(msg.sender, msg.value, modelTiers);
        emit Heartbeat(msg.sender, uint64(block.timestamp));
    }

    /// @notice Adds the sent value to the caller's stake.
    function addStake() external payable {
        Node storage node = _registered(msg.sender);
        if (node.unbondingAt != 0) revert Unbonding(msg.sender);
        if (msg.value == 0) revert InvalidAmount(0);
        node.stake = _toUint128(uint256(node.stake) + msg.value);
        totalStake += msg.value;
        emit StakeAdded(msg.sender, msg.value, node.stake);
    }

    /// @notice Replaces the model tiers that the caller serves.
    function setModelTiers(uint8[] calldata modelTiers) external {
        Node storage node = _registered(msg.sender);
        _checkModelTiers(modelTiers);
        node.modelTiers = modelTiers;
        emit ModelTiersSet(msg.sender, modelTiers);
    }

    /// @notice Records that the caller is alive.
    function heartbeat() external {
        _registered(msg.sender).lastHeartbeat = uint64(block.timestamp);
        emit Heartbeat(msg.sender, uint64(block.timestamp));
    }

    /// @notice Starts unbonding the caller's stake. The caller is inactive at once.
    function beginUnbonding() external {
        Node storage node = _registered(msg.sender);
        if (node.unbondingAt != 0) revert Unbonding(msg.sender);
        node.unbondingAt = uint64(block.timestamp);
        emit UnbondingBegun(msg.sender, uint64(block.timestamp) + UNBONDING_PERIOD);
    }

    /// @notice Cancels the caller's unbonding. It stays registered.
    function cancelUnbonding() external {
        Node storage node = _registered(msg.sender);
        if (node.unbondingAt == 0) revert NotUnbonding(msg.sender);
        node.unbondingAt = 0;
        emit UnbondingCancelled(msg.sender);
    }

    /// @notice Pays the caller its whole stake and removes it, when unbonding is over and no slash is pending.
    function withdraw() external {
        Node storage node = _registered(msg.sender);
        if (node.unbondingAt == 0) revert NotUnbonding(msg.sender);
        uint64 withdrawableAt = node.unbondingAt + UNBONDING_PERIOD;
        if (block.timestamp < withdrawableAt) revert TooEarly(withdrawableAt);
        if (node.pendingSlashes != 0) revert StakeFrozen(node.pendingSlashes);
        uint256 amount = node.stake;
        uint128 slashed = node.slashed;
        delete _nodes[msg.sender];
        // Registering again must not clear what an operator lost before.
        _nodes[msg.sender].slashed = slashed;
        totalStake -= amount;
        emit Withdrawn(msg.sender, amount);
        _pay(msg.sender, amount);
    }

    /// @notice Accuses an operator of a fault. Each fault identifier works once, whatever its outcome.
    function proposeSlash(bytes32 faultId, address operator, uint256 amount, bytes32 evidenceHash)
        external
        onlyRole(COORDINATOR)
    {
        if (faultId == 0 || evidenceHash == 0) revert EmptyHash();
        if (amount == 0) revert InvalidAmount(0);
        Slash storage slash = _slashes[faultId];
        if (slash.operator != address(0)) revert FaultAlreadyUsed(faultId);
        Node storage node = _registered(operator);
        // Otherwise a coordinator could keep a stake frozen for ever, with one accusation after another.
        if (node.unbondingAt != 0 && block.timestamp >= node.unbondingAt + UNBONDING_PERIOD) {
            revert UnbondingOver(operator);
        }
        slash.operator = operator;
        slash.executableAt = uint64(block.timestamp) + SLASH_WINDOW;
        slash.amount = amount;
        slash.evidenceHash = evidenceHash;
        node.pendingSlashes += 1;
        emit SlashProposed(faultId, operator, amount, evidenceHash, slash.executableAt);
    }

    /// @notice Records the accused operator's answer, once, while the slash is pending.
    function answer(bytes32 faultId, bytes32 answerHash) external {
        Slash storage slash = _pending(faultId);
        if (slash.operator != msg.sender) revert NotAccused(faultId, msg.sender);
        if (answerHash == 0) revert EmptyHash();
        if (slash.answerHash != 0) revert AlreadyAnswered(faultId);
        slash.answerHash = answerHash;
        emit SlashAnswered(faultId, msg.sender, answerHash);
    }

    /// @notice Moves the slashed wei, at most the whole stake, to the treasury's balance. Anyone may call it when due.
    function executeSlash(bytes32 faultId) external {
        Slash storage slash = _pending(faultId);
        if (block.timestamp < slash.executableAt) revert TooEarly(slash.executableAt);
        Node storage node = _nodes[slash.operator];
        uint128 amount = slash.amount < node.stake ? uint128(slash.amount) : node.stake;
        slash.settled = true;
        node.pendingSlashes -= 1;
        node.stake -= amount;
        node.slashed += amount;
        totalStake -= amount;
        treasuryBalance += amount;
        emit SlashExecuted(faultId, slash.operator, amount);
    }

    /// @notice Dismisses a pending slash.
    function cancelSlash(bytes32 faultId) external onlyRole(ARBITER) {
        Slash storage slash = _pending(faultId);
        slash.settled = true;
        _nodes[slash.operator].pendingSlashes -= 1;
        emit SlashCancelled(faultId, slash.operator);
    }

    /// @notice Pays all slashed wei to the treasury. Anyone may call it.
    function payTreasury() external {
        uint256 amount = treasuryBalance;
        if (amount == 0) revert InvalidAmount(0);
        address treasury = holderOf[TREASURY];
        treasuryBalance = 0;
        emit TreasuryPaid(treasury, amount);
        _pay(treasury, amount);
    }

    /// @notice The state of an operator, all zero for an unknown one.
    function nodeOf(address operator) external view returns (NodeState memory) {
        Node storage node = _nodes[operator];
        return NodeState({
            stake: node.stake,
            modelTiers: node.modelTiers,
            lastHeartbeat: node.lastHeartbeat,
            registeredAt: node.registeredAt,
            unbondingAt: node.unbondingAt,
            pendingSlashes: node.pendingSlashes,
            slashed: node.slashed,
            active: isActive(operator)
        });
    }

    /// @notice The slash for a fault, all zero when none was proposed.
    function slashOf(bytes32 faultId) external view returns (Slash memory) {
        return _slashes[faultId];
    }

    /// @notice Unix seconds of an operator's last heartbeat, or zero.
    function lastHeartbeat(address operator) external view returns (uint64) {
        return _nodes[operator].lastHeartbeat;
    }

    /// @notice Whether an operator is registered, not unbonding, alive and has enough stake.
    function isActive(address operator) public view returns (bool) {
        Node storage node = _nodes[operator];
        return node.registeredAt != 0 && node.unbondingAt == 0 && node.stake >= minStake
            && block.timestamp <= node.lastHeartbeat + HEARTBEAT_WINDOW;
    }

    function _checkHolder(bytes32 role, address holder) internal view override {
        if (role == COORDINATOR && holder == holderOf[ARBITER]) revert InvalidHolder(role, holder);
        if (role == ARBITER && holder == holderOf[COORDINATOR]) revert InvalidHolder(role, holder);
    }

    function _registered(address operator) private view returns (Node storage node) {
        node = _nodes[operator];
        if (node.registeredAt == 0) revert NotRegistered(operator);
    }

    function _pending(bytes32 faultId) private view returns (Slash storage slash) {
        slash = _slashes[faultId];
        if (slash.operator == address(0) || slash.settled) revert SlashNotPending(faultId);
    }

    function _pay(address receiver, uint256 amount) private {
        (bool paid,) = receiver.call{value: amount}("");
        if (!paid) revert PaymentFailed(receiver);
    }

    function _checkModelTiers(uint8[] calldata modelTiers) private pure {
        if (modelTiers.length == 0 || modelTiers.length > MAX_MODEL_TIERS) revert InvalidModelTiers();
        for (uint256 i = 1; i < modelTiers.length; i++) {
            if (modelTiers[i] <= modelTiers[i - 1]) revert InvalidModelTiers();
        }
    }

    function _toUint128(uint256 amount) private pure returns (uint128) {
        if (amount > type(uint128).max) revert InvalidAmount(amount);
        return uint128(amount);
    }
}
