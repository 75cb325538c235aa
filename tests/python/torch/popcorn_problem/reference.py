import torch


def generate_input(n, seed):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(n, device="cuda", generator=generator), torch.empty(n, device="cuda")


def check_implementation(data, output):
    wrong = (output != 2 * data[0]).sum().item()
    return wrong == 0, f"{wrong} elements are wrong" if wrong else ""
