# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripted worker's nets: it reads the labels, and nothing else. A call takes a microsecond an image, a quarter of it for
each of its steps: the first layer, and all others together. It knows every class but that of the first image, which it takes
for the next one. Nets of more than a million images a call do not fit. fake_training.py trains.
"""
from fake_training import NetRefusal, Training, read_labels

MEMORY = 1_000_000  # images of a batch
PER_IMAGE = 1e-6  # seconds
COPY = 1e-7  # seconds an image, in each direction


def evenly(number):
    """Numbers of -1 to 1 without a trend: multiples of the golden ratio are spread evenly, however many there are."""
    return 2 * (number * 0.6180339887 % 1) - 1


class Nets:
    WORKLOADS = [{"workload": "inference", "dtypes": ["f32", "f64"], "implementations": ["layers", "fused"], "compute_modes": ["strict"]},
                 {"workload": "training", "dtypes": ["f32", "f64"], "implementations": ["fused", "layers"], "compute_modes": ["strict"]}]

    def __init__(self, host, options):
        self.host = host
        self.options = options
        self.sessions = {}
        self.last_id = 0
        self.timed = 0

    def requests(self):
        return {name: getattr(self, name) for name in ("open", "check", "time", "evaluate", "close", "advance", "save", "load")}

    def open(self, request):
        if request["workload"] == "training":
            return self.add(Training(request, self.options))
        implementation = request.get("implementation") or "layers"
        if request["dtype"] not in self.WORKLOADS[0]["dtypes"]:
            raise NetRefusal("unsupported", f"nets are not computed in {request['dtype']}")
        if request["data"] == "transferred" and self.host:
            raise NetRefusal("skipped", "a host device has no transfers")
        batch = request["batch"]
        if batch > MEMORY:
            raise NetRefusal("memory", f"needs memory for {batch} images, and has it for {MEMORY}")
        labels = read_labels(request["labels"])
        self.last_id += 1
        session = self.last_id
        self.sessions[session] = {"labels": labels, "batch": batch, "data": request["data"],
                                  "classes": request["net"]["layers"][-1].get("features", 10)}
        model = {"bytes": 4000.0 * batch, "flops": 1000.0 * batch, "elements": batch, "unit": "vector"}
        return {"session": session, "implementation": implementation, "clock": "wall" if self.host else "device",
                "dispatch": "single", "images": len(labels), "classes": 10, "parameters": 100, "footprint_bytes": 1000 * batch,
                "model": model, "load_s": 0.001, "place_s": 0.001,
                "steps": [{"name": "first", "layers": ["conv1"], "model": model},
                          {"name": "rest", "layers": ["dense1"], "model": model}]}

    def add(self, training):
        self.last_id += 1
        self.sessions[self.last_id] = training
        return {"session": self.last_id, **training.opened()}

    def advance(self, request):
        return self.sessions[request["session"]].advance(request)

    def save(self, request):
        return self.sessions[request["session"]].save(request)

    def load(self, request):
        return self.sessions[request["session"]].load(request)

    def check(self, request):
        images = request.get("images") or range(3)
        wrong = self.options.wrong_net
        return {"verified": not wrong, "error": 7.0 if wrong else 0.25, "error_bound": 1, "checked": len(images), "differing": 0,
                "undecided": 0, "method": "sampled", "message": "image 0 is off" if wrong else "", "dispatch": "single"}

    def time(self, request):
        session = self.sessions[request["session"]]
        self.timed += 1
        seconds = PER_IMAGE * session["batch"] * (0.25 if request["level"] == "layer" else 1)
        seconds *= 1 + self.options.steady_noise * evenly(self.timed)
        answer = {"samples": [seconds] * 5, "wall": [seconds] * 5, "batch": max(1, int(1e-3 / seconds)), "transfer": None}
        if session["data"] == "transferred":
            copy = COPY * session["batch"]
            answer.update(samples=[seconds + 2 * copy] * 5,
                          transfer={"h2d": [copy] * 5, "d2h": [copy] * 5, "h2d_bytes": 8, "d2h_bytes": 4})
        return answer

    def evaluate(self, request):
        if isinstance(self.sessions[request["session"]], Training):
            return self.sessions[request["session"]].evaluate()
        labels = self.sessions[request["session"]]["labels"]
        predictions = list(labels)
        predictions[0] = (predictions[0] + 1) % 10
        if self.options.predict is not None:
            predictions = [self.options.predict] * len(labels)
        right = sum(a == b for a, b in zip(predictions, labels))
        return {"images": len(labels), "correct": right, "predictions": predictions, "seconds": 0.001}

    def close(self, request):
        del self.sessions[request["session"]]
        return {}
