// What every view has. A view that has something to do at one of these moments says so itself.

export class View {
  ended = false; // what is still being read then is of no use any more

  constructor(host) {
    this.host = host;
  }

  /** Whether a key meant something here. */
  key() {
    return false;
  }

  /** The same view, at another place in it. */
  goTo() {}

  /** The person came here by a link or a key. */
  arrive() {
    this.host.querySelector('h1')?.focus({preventScroll: true});
  }

  end() {
    this.ended = true;
  }
}
