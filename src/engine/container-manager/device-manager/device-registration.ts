import { join } from 'node:path';
import { checkQualifiedName } from '../../../api/values/names.ts';
import { goQuote } from '../../../api/values/go-quote.ts';
import type { RegisterRequest } from '../../../plugins/types.ts';

/** kubelet: deviceplugin/v1beta1/constants.go Version */
const deviceAPIVersion = 'v1beta1';

/**
 * Returns the socket path of a registering plugin. Throws an `Error` with the kubelet's answer if the registration is
 * invalid. kubelet: devicemanager/plugin/v1beta1/server.go Register
 */
export function registeredSocket(folder: string, { version, endpoint, resourceName }: RegisterRequest): string {
  if (version !== deviceAPIVersion) {
    const supported = `Supported version is [${goQuote(deviceAPIVersion)}]`;
    throw new Error(`requested API version ${goQuote(version)} is not supported by kubelet. ${supported}`);
  }
  if (!isExtendedResourceName(resourceName)) throw new Error(invalidName(resourceName));
  return join(folder, endpoint);
}

interface PresentedPlugin {
  /** Name of its resource. */
  name: string;
  supportedVersions: readonly string[];
}

/**
 * Throws an `Error` with the kubelet's text if a plugin of plugins_registry is invalid. kubelet:
 * devicemanager/plugin/v1beta1/handler.go ValidatePlugin
 */
export function validateDevicePlugin({ name, supportedVersions }: PresentedPlugin): void {
  if (!supportedVersions.includes(deviceAPIVersion)) {
    const supported = `[${supportedVersions.join(' ')}]`;
    throw new Error(`manager version, ${deviceAPIVersion}, is not among plugin supported versions ${supported}`);
  }
  if (!isExtendedResourceName(name)) throw new Error(`invalid name of device plugin socket: ${invalidName(name)}`);
}

const invalidName = (name: string): string => `the ResourceName ${goQuote(name)} is invalid`;

/** kubelet: pkg/apis/core/v1/helper/helpers.go IsExtendedResourceName */
function isExtendedResourceName(name: string): boolean {
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  return !isNative && !name.startsWith('requests.') && checkQualifiedName(`requests.${name}`) === undefined;
}
