/** What is wrong with a new sandbox. */
export const sandboxFaults = {
  ended: 'the pod sandbox exited within a second of its start',
  noAddress: 'the container runtime gave the pod sandbox no IP address',
  changed: 'the pod sandbox changed within a second of its start',
};
