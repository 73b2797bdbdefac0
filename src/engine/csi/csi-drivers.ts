import { checkDNS1123Subdomain } from '../../api/values/names.ts';
import { UserError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Connected, CSINode } from '../../plugins/types.ts';
import { rpcText } from '../../cri/rpc-text.ts';
import type { Plugin, PluginHandler } from '../plugin-manager/plugin-handler.ts';

interface Deps {
  connect: (socketPath: string) => Promise<Connected<CSINode>>;
  /** Called when a driver becomes available, because volumes may wait for it. */
  onRegistered: (driver: string) => void;
  logger: Logger;
}

interface Driver {
  endpoint: string;
  version: Version;
}

type Version = readonly [major: number, minor: number, patch: number];

/** kubelet: pkg/volume/csi/csi_plugin.go log */
const logged = (message: string): string => `kubernetes.io/csi: ${message}`;

/** The registered CSI drivers. kubelet: pkg/volume/csi/csi_plugin.go RegistrationHandler */
export class CSIDrivers implements PluginHandler {
  private readonly drivers = new Map<string, Driver>();

  constructor(private readonly deps: Deps) {}

  /** kubelet: csi_plugin.go validateVersions */
  validate({ name, supportedVersions }: Plugin): void {
    // The name is also the name of a folder.
    if (checkDNS1123Subdomain(name) !== undefined) {
      throw new Error(logged(`validation for CSI driver ${JSON.stringify(name)} failed. It is not a valid name`));
    }
    const failed = (reason: string): Error =>
      new Error(logged(`ValidatePlugin for CSI driver "${name}" failed. ${reason}`));
    if (supportedVersions.length === 0) throw failed('Plugin returned an empty list for supported versions');
    const version = highestVersion(supportedVersions);
    if (version === undefined) {
      const versions = `[${supportedVersions.map((one) => JSON.stringify(one)).join(' ')}]`;
      throw failed(`None of the versions specified ${versions} are supported`);
    }
    const known = this.drivers.get(name);
    if (known !== undefined && compareVersions(known.version, version) >= 0) {
      throw failed(
        `Another driver with the same name is already registered with a higher supported version: "${known.version.join('.')}"`,
      );
    }
  }

  /** Registers the driver once it has reported its node id. kubelet: csi_plugin.go RegisterPlugin */
  async register({ name, endpoint, supportedVersions }: Plugin, signal: AbortSignal): Promise<void> {
    const { connect, onRegistered, logger } = this.deps;
    const connection = await connect(endpoint);
    try {
      const { nodeId, maxVolumesPerNode } = await connection.service.nodeGetInfo({}, { signal });
      if (nodeId === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty');
      logger.info({ driver: name, nodeID: nodeId.slice(0, maxShown), maxVolumesPerNode }, 'A CSI driver can be used');
    } catch (error) {
      throw new Error(logged(`error during CSI NodeGetInfo() call: ${rpcText(error)}`), { cause: error });
    } finally {
      connection.close();
    }
    this.drivers.set(name, { endpoint, version: highestVersion(supportedVersions) ?? [0, 0, 0] });
    onRegistered(name);
  }

  deRegister({ name, endpoint }: Plugin): void {
    if (this.drivers.get(name)?.endpoint === endpoint) this.drivers.delete(name);
  }

  /** Calls the driver over a new connection. Rejects with a `UserError` that has the driver's message. */
  async call<T>(name: string, work: (node: CSINode) => Promise<T>): Promise<T> {
    const driver = this.drivers.get(name);
    if (driver === undefined) {
      throw new UserError(`driver name ${name} not found in the list of registered CSI drivers`, {
        hint: 'Run the driver on this node. It registers by a socket in plugins_registry.',
      });
    }
    let connection;
    try {
      connection = await this.deps.connect(driver.endpoint);
      return await work(connection.service);
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new UserError(rpcText(error), { cause: error });
    } finally {
      connection?.close();
    }
  }
}

/** Longest text of a driver in the log, in characters. */
const maxShown = 256;

/** Returns the highest version with the major number 1. Returns undefined if there is none. csi_plugin.go */
function highestVersion(versions: readonly string[]): Version | undefined {
  const supported = versions.flatMap((text) => {
    const [, major, minor = '0', patch = '0'] = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?/.exec(text) ?? [];
    return major === '1' ? [[1, Number(minor), Number(patch)] as const] : [];
  });
  return supported.toSorted(compareVersions).at(-1);
}

function compareVersions(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
