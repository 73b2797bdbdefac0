/** A plugin as it presents itself. */
export interface Plugin {
  /** A resource for a device plugin, a driver for the others. */
  name: string;
  /** Path of the socket with the service of the plugin. */
  endpoint: string;
  supportedVersions: readonly string[];
}

/**
 * Uses the plugins of one type. Calls for one socket never overlap. kubelet: pluginmanager/cache/types.go
 * PluginHandler
 */
export interface PluginHandler {
  /** Throws an `Error` for a plugin that it cannot use, such as one of other versions. */
  validate(plugin: Plugin): void;
  /** Uses the plugin from now on, also in place of one with the same name. Rejects if it cannot. */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Called when the plugin's socket was removed or replaced. Also called if `register` failed. */
  deRegister(plugin: Plugin): void;
}

/** Types of plugins. kubelet: pluginregistration/v1/constants.go */
export type PluginType = 'DevicePlugin' | 'CSIPlugin' | 'DRAPlugin';

/** Handlers by type. A plugin of another type is refused. */
export type PluginHandlers = Readonly<Partial<Record<PluginType, PluginHandler>>>;
