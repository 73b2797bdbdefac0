import { writeFile } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { ifPresent } from '../../files/if-present.ts';
import { singleFlight } from '../../flow/single-flight.ts';
import { bridgeRules } from './bridge-rules.ts';
import { hostPortRules } from './host-port-rules.ts';
import { type NetworkedSandbox, onBridge } from './networked-sandbox.ts';
import type { PacketFilter } from './packet-filter.ts';
import { applyRules, removeRules } from './apply-rules.ts';
import type { BridgeNetwork, Rule } from './rules.ts';

export interface NetworkRulesDeps {
  /** The bridge of the running pods. Undefined if they use another network. */
  readonly network: () => Promise<BridgeNetwork | undefined>;
  readonly sandboxes: () => Promise<readonly NetworkedSandbox[]>;
  /** Finds iptables and ip6tables. Empty if the machine has neither. */
  readonly filters: () => Promise<readonly PacketFilter[]>;
  /** Runs work while no other process changes these rules. */
  readonly withLock: <T>(work: () => Promise<T>) => Promise<T>;
  readonly clock: Clock;
}

/**
 * The rules in the kernel for the pods on our bridge: forwarding, masquerade and host ports. They follow from the
 * running sandboxes, so any process can rebuild them at any time, and they stay while no agent runs.
 */
export class NetworkRules {
  /** Updates the rules to the sandboxes that run now. Resolves to true if some had been removed. */
  readonly update: () => Promise<boolean>;
  private applied: readonly Rule[] = [];

  constructor(private readonly deps: NetworkRulesDeps) {
    const { clock, withLock } = deps;
    this.update = singleFlight(() => withLock(() => this.apply()), { clock, pausePerRun: 0, maxPauseMs: 0 });
  }

  /** Removes all rules of a bridge. */
  async remove({ bridge }: BridgeNetwork): Promise<void> {
    await this.deps.withLock(async () => removeRules(await this.deps.filters(), [ownerOf(bridge), earlierOwner]));
    this.applied = [];
  }

  private async apply(): Promise<boolean> {
    const network = await this.deps.network();
    if (network === undefined) return false;
    const rules = [...bridgeRules(network), ...hostPortRules(onBridge(await this.deps.sandboxes(), network))];
    const wasCut = await applyRules(await this.deps.filters(), ownerOf(network.bridge), {
      rules,
      before: this.applied,
    });
    this.applied = rules;
    if (rules.some(({ family, chain }) => family === 'IPv4' && chain === 'DNAT')) await routeLoopback(network);
    return wasCut;
  }
}

/** Earlier builds had one chain for all bridges, KUBELET-TS-FORWARD. */
const earlierOwner = 'KUBELET-TS';

/** The first part of the names of the chains of a bridge, such as `KTS0ADE00` for kts0ade00. */
const ownerOf = (bridge: string): string => bridge.toUpperCase();

/**
 * Lets the node reach ports of pods at 127.0.0.1. `bridgeRules` keeps pods from using this. Does nothing before the
 * first pod, which creates the bridge.
 */
export async function routeLoopback({ bridge }: BridgeNetwork): Promise<void> {
  await ifPresent(writeFile(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1'));
}
