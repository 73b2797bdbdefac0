/** The messages and services of plugins that the engine uses. */
import type { Service } from '../cri/service.ts';
import type { RegistrationDefinition } from './generated/plugin-registration.ts';

/** The service of a plugin that presents itself by a socket in plugins_registry. */
export type PluginRegistration = Service<RegistrationDefinition>;

/** A service over a connection of its own. */
export interface Connected<S> {
  service: S;
  /** Ends calls under way. */
  close(): void;
}

/** Connects to the sockets of plugins. Each rejects with a `TimeoutError` after 10 s. */
export interface Plugins {
  connectRegistration: (socketPath: string) => Promise<Connected<PluginRegistration>>;
}
