/** A plugin as it describes itself. */
export interface Plugin {
  /** Name of the resource for a device plugin, of the driver for the others. */
  name: string;
  /** Path of the socket on which the plugin serves. */
  endpoint: string;
  supportedVersions: readonly string[];
}

/**
 * Uses the plugins of one type. Calls for one socket never overlap. kubelet: pluginmanager/cache/types.go
 * PluginHandler
 */
export interface PluginHandler {
  /** Throws an `Error` if it cannot use the plugin, for example because of its versions. */
  validate(plugin: Plugin): void;
  /** Uses the plugin from now on. It replaces one with the same name. Rejects if it cannot be used. */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Called when the plugin's socket was removed or replaced. Also called if `register` failed. */
  deRegister(plugin: Plugin): void;
}

/** Types of plugins. kubelet: pluginregistration/v1/constants.go */
export type PluginType = 'DevicePlugin' | 'CSIPlugin' | 'DRAPlugin';

/** Handlers by type. Plugins of other types are refused. */
export type PluginHandlers = Readonly<Partial<Record<PluginType, PluginHandler>>>;
