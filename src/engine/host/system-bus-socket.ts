const wellKnownSocket = '/run/dbus/system_bus_socket';

/**
 * Returns the path of the system bus socket. D-Bus specification: Well-known Message Bus Instances, Server Addresses
 */
export function systemBusSocket(environment: Readonly<Record<string, string | undefined>>): string {
  const addresses = environment['DBUS_SYSTEM_BUS_ADDRESS']?.split(';') ?? [];
  for (const address of addresses) {
    const [, path] = /^unix:(?:.*,)?path=([^,]+)/.exec(address) ?? [];
    if (path !== undefined) return decodeURIComponent(path);
  }
  return wellKnownSocket;
}
