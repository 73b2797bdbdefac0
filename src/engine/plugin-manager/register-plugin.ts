import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Connected, PluginRegistration } from '../../plugins/types.ts';
import { rpcText } from '../../cri/rpc-text.ts';
import type { Plugin, PluginHandler, PluginHandlers } from './plugin-handler.ts';

/** kubelet: operation_generator.go notifyPlugin */
const notifyTimeoutMs = 5000;
/** Longest name that a plugin may report. */
const maxNameLength = 1024;

interface Deps {
  connect: (socketPath: string) => Promise<Connected<PluginRegistration>>;
  handlers: PluginHandlers;
  /** Called before the handler registers the plugin. */
  onAdded: (added: { plugin: Plugin; handler: PluginHandler }) => void;
  logger: Logger;
}

/**
 * Asks the plugin on a socket about itself, has the handler for its type register it, and notifies it of the result.
 * Rejects, with the kubelet's message, if that must be retried. Resolves with the handler's error if the handler
 * refuses the plugin. kubelet: pluginmanager/operationexecutor/operation_generator.go GenerateRegisterPluginFunc
 */
export async function registerPlugin(
  { connect, handlers, onAdded, logger }: Deps,
  socketPath: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const connection = await connect(socketPath).catch((error: unknown) => {
    throw failure(`dial failed at socket ${socketPath}, err: ${errorMessage(error)}`, error);
  });
  try {
    const { service } = connection;
    const { type, ...plugin } = await getInfo(service, socketPath, signal);
    const handler = Object.hasOwn(handlers, type) ? handlers[type as keyof PluginHandlers] : undefined;
    if (handler === undefined)
      return await refuse(service, `no handler registered for plugin type: ${type} at socket ${socketPath}`, signal);
    try {
      handler.validate(plugin);
    } catch (error) {
      return await refuse(service, `plugin validation failed with err: ${errorMessage(error)}`, signal);
    }
    onAdded({ plugin, handler });
    const refusal = await registered(handler, plugin, signal);
    // The plugin is registered by now, so there is no retry if it does not accept the notification.
    await notify(service, { pluginRegistered: refusal === undefined, error: refusal ?? '' }, signal).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        logger.warn({ path: socketPath, err: errorMessage(error) }, 'Notifying a plugin of its registration failed');
      },
    );
    return refusal;
  } finally {
    connection.close();
  }
}

/** Resolves with the handler's error if the handler refuses the plugin. */
async function registered(handler: PluginHandler, plugin: Plugin, signal: AbortSignal): Promise<string | undefined> {
  try {
    await handler.register(plugin, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return failure(`plugin registration failed with err: ${errorMessage(error)}`, error).message;
  }
}

async function getInfo(
  service: PluginRegistration,
  socketPath: string,
  signal: AbortSignal,
): Promise<Plugin & { type: string }> {
  try {
    const { type, name, endpoint, supportedVersions } = await service.getInfo({}, { signal });
    const isTooLong = [type, name, endpoint, ...supportedVersions].some(({ length }) => length > maxNameLength);
    if (isTooLong) throw new Error(`a name has more than ${maxNameLength} characters`);
    return { type, name, endpoint: endpoint === '' ? socketPath : endpoint, supportedVersions };
  } catch (error) {
    throw failure(`failed to get plugin info using RPC GetInfo at socket ${socketPath}, err: ${rpcText(error)}`, error);
  }
}

async function refuse(service: PluginRegistration, reason: string, signal: AbortSignal): Promise<never> {
  const error = failure(reason);
  await notify(service, { error: error.message }, signal);
  throw error;
}

async function notify(
  service: PluginRegistration,
  status: { pluginRegistered?: boolean; error?: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await service.notifyRegistrationStatus(status, { signal, deadlineMs: notifyTimeoutMs });
  } catch (error) {
    throw failure(`failed to send registration status, err: ${rpcText(error)}`, error);
  }
}

const failure = (message: string, cause?: unknown): Error => new Error(`RegisterPlugin error -- ${message}`, { cause });
