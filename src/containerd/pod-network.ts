import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { PodSandboxConfig } from '../cri/types.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type CNIOptions, type CNISetup, confFileName, ensureCNIConfig } from './cni-config.ts';
import { removeBridge } from './remove-bridge.ts';
import { isCutOff, newBridge, restoreBridge } from './restore-bridge.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { findPacketFilters, withRulesLock } from './packet-filters.ts';
import { isHostIP } from './network/host-port-rules.ts';
import { type NetworkedSandbox, NetworkedSandboxes } from './network/networked-sandbox.ts';
import { NetworkRules } from './network/network-rules.ts';
import type { BridgeNetwork } from './network/rules.ts';
import { bridgeNetworkOf, SubnetReservations, defaultReservationsDir } from './subnet-reservations.ts';

interface PodNetworkDeps {
  readonly paths: ManagedPaths;
  readonly choice: Pick<CNIOptions, 'podCIDR' | 'mtu'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The network of the pods of a managed containerd: its CNI configuration, and the rules for our bridge. */
export class PodNetwork {
  private readonly file: string;
  private readonly rules: NetworkRules;
  private readonly sandboxes = new NetworkedSandboxes();
  private warnings: readonly string[] = [];
  private readonly reported = new Set<string>();
  /** Sandboxes that are being created, whose subnet must not change. */
  private starting = 0;

  constructor(private readonly deps: PodNetworkDeps) {
    const { paths, clock } = deps;
    this.file = join(paths.cniConfDir, confFileName);
    this.rules = new NetworkRules({
      network: () => this.bridge(),
      sandboxes: () => this.listSandboxes(),
      filters: findPacketFilters,
      withLock: (work) => withRulesLock(clock, work),
      clock,
    });
  }

  /** The bridge of the running pods. Undefined if they use another network. */
  bridge(): Promise<BridgeNetwork | undefined> {
    return bridgeNetworkOf(this.file);
  }

  /** Writes the CNI configuration for a containerd that is not running. */
  configure(): Promise<CNISetup> {
    return this.write(false);
  }

  /** Brings the CNI configuration of a running containerd up to date, if it is ours. Returns warnings. */
  private async refresh(): Promise<readonly string[]> {
    const { configFile, cniConfDir } = this.deps.paths;
    const isOurs = (await readFile(configFile, 'utf8')).includes(JSON.stringify(cniConfDir));
    return isOurs && this.starting === 0 ? (await this.write(true)).warnings : [];
  }

  /** What an earlier configuration left is removed once no pod uses it. */
  private async write(isFixed: boolean): Promise<CNISetup> {
    const { paths, choice, logger } = this.deps;
    const before = await bridgeNetworkOf(this.file);
    const setup = await ensureCNIConfig({ confDir: paths.cniConfDir, isFixed, ...choice });
    this.warnings = setup.warnings;
    const isOurs = setup.confDir === paths.cniConfDir;
    const after = isOurs ? await bridgeNetworkOf(this.file) : undefined;
    if (before !== undefined && before.bridge !== after?.bridge) {
      await this.removeRules(before);
      await removeBridge(before, { file: this.file, logger });
      if (!isOurs) await rm(this.file, { force: true });
    }
    return setup;
  }

  /** Updates configuration and rules for the running pods. Returns warnings, also if that fails. */
  async start(isAdopted: boolean): Promise<readonly string[]> {
    try {
      // A launched containerd has its configuration already.
      const warnings = isAdopted ? await this.refresh() : [];
      await this.rules.update();
      await this.restoreBridge();
      return warnings;
    } catch (error) {
      return [
        `The iptables rules of pods could not be set, so pods may not reach other machines: ${errorMessage(error)}`,
      ];
    }
  }

  /** Checks configuration and rules. Resolves to true if rules had been removed and were restored. Never rejects. */
  async check(): Promise<boolean> {
    try {
      this.warnOnce(await this.refresh());
      const wasCut = await this.rules.update();
      await this.restoreBridge();
      return wasCut;
    } catch (error) {
      this.warnOnce([`Checking the network of pods failed: ${errorMessage(error)}`]);
      return false;
    }
  }

  /** Another program may take the address of the bridge, such as systemd-networkd with a file for all interfaces. */
  private async restoreBridge(): Promise<void> {
    const network = await this.bridge();
    if (network === undefined || !this.sandboxes.areOn(network) || !(await isCutOff(network))) return;
    const { bridge } = network;
    if (await restoreBridge(network)) {
      this.deps.logger.warn({ bridge }, 'The bridge of the pods was down or had lost its address; it is restored');
    } else this.warnOnce([`The bridge ${bridge} was removed, so the pods on it are cut off. ${newBridge}`]);
  }

  /** Logs what the last writing of the configuration found, unless it was logged before. */
  warnAgain(): void {
    this.warnOnce(this.warnings);
  }

  /** Logs warnings that were not logged before. */
  warnOnce(warnings: readonly string[]): void {
    for (const warning of warnings) {
      if (!this.reported.has(warning)) this.deps.logger.warn(warning);
      this.reported.add(warning);
    }
  }

  /** Removes rules and bridge. The caller must have removed all pods. */
  async remove(): Promise<void> {
    const { logger } = this.deps;
    const network = await bridgeNetworkOf(this.file);
    if (network === undefined) return;
    await removeBridge(network, { file: this.file, logger });
    await this.removeRules(network).catch((error: unknown) => {
      logger.warn({ err: errorMessage(error) }, 'Kept the iptables rules for pods');
    });
  }

  /** The pods of another root-dir may be on the same bridge. */
  private async removeRules(network: BridgeNetwork): Promise<void> {
    const others = await new SubnetReservations(defaultReservationsDir).ofOthers(this.file);
    if (!others.some((other) => network.subnets.includes(other))) await this.rules.remove(network);
  }

  /** Wraps a runtime, so that the host ports of a sandbox work from its creation until it is stopped. */
  withHostPorts(runtime: RuntimeService): RuntimeService {
    return {
      ...runtime,
      runPodSandbox: async (request, options) => {
        const ports = hostPortsOf(request?.config);
        for (const { hostIp = '', hostPort = 0 } of ports) {
          if (!isHostIP(hostIp))
            throw new Error(`hostIP ${JSON.stringify(hostIp)} of host port ${hostPort} is not an IP address`);
        }
        this.starting++;
        const response = await runtime.runPodSandbox(request, options).finally(() => {
          this.starting--;
        });
        if (ports.length === 0) return response;
        try {
          await this.rules.update();
        } catch (cause) {
          await runtime.stopPodSandbox({ podSandboxId: response.podSandboxId });
          throw new Error(`failed to set the rules for the host ports: ${errorMessage(cause)}`, { cause });
        }
        return response;
      },
      stopPodSandbox: async (request, options) => {
        const response = await runtime.stopPodSandbox(request, options);
        if (this.sandboxes.hasHostPorts(request?.podSandboxId ?? '')) await this.dropRules();
        return response;
      },
    };
  }

  /** Drops the rules of sandboxes that no longer run. If that fails, the next check drops them. */
  async dropRules(): Promise<void> {
    await this.rules.update().catch((error: unknown) => {
      this.deps.logger.warn({ err: errorMessage(error) }, 'Removing the rules for host ports failed');
    });
  }

  private async listSandboxes(): Promise<NetworkedSandbox[]> {
    const channel = openChannel(this.deps.paths.endpoint);
    try {
      return await this.sandboxes.list(grpcRuntimeService(channel));
    } finally {
      channel.close();
    }
  }
}

function hostPortsOf(config: Partial<PodSandboxConfig> | undefined): NonNullable<PodSandboxConfig['portMappings']> {
  if (config?.linux?.securityContext?.namespaceOptions?.network === 'NODE') return [];
  return (config?.portMappings ?? []).filter(({ hostPort = 0 }) => hostPort > 0);
}
